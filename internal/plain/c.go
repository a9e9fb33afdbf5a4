package plain

import "strings"

// CLine returns a text for a line of a file of C: without line breaks and other control characters. A backslash at the end would
// continue the line.
func CLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return strings.TrimRight(text, `\ `)
}

// CComment returns a text for a comment of C, which it does not end.
func CComment(text string) string { return strings.ReplaceAll(CLine(text), "*/", "* /") }

// CString returns a text as a string of C.
func CString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `??`, `?\?`).Replace(CLine(text)) + `"`
}
