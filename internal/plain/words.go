package plain

import (
	"fmt"
	"math"
	"strconv"
)

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

// Number writes a number: whole numbers, and those from a million on rounded, with their thousands apart, others with a few
// digits.
func Number(v float64) string {
	if math.Abs(v) >= 1e6 {
		v = math.Round(v)
	}
	if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	s := strconv.FormatInt(int64(v), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
