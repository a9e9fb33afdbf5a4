package plain

import "fmt"

// Count writes how many of something there are: 1 fault, 2 faults.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Clip cuts a text after so many characters, and marks it where something is missing.
func Clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
