package plain

import "fmt"

// Count writes how many of something there are: 1 fault, 2 faults.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Clip cuts a text to a number of characters, and marks it if something was cut off.
func Clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
