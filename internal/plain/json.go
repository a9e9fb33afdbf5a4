package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON writes the hidden characters in a JSON text as escapes, which mean the same: encoding/json leaves DEL, C1 and
// bidirectional controls as they are. Line ends and tabs between values are kept, because they are not part of a string.
func JSON(text []byte) []byte {
	return escapeJSON(text, func(r rune) bool { return Hidden(r) && r >= ' ' })
}

// JSONInASCII is JSON, and writes every character beyond ASCII as an escape too.
func JSONInASCII(text []byte) []byte {
	return escapeJSON(text, func(r rune) bool { return Hidden(r) && r >= ' ' || r > unicode.MaxASCII })
}

// escapeJSON writes the characters of a kind as escapes.
func escapeJSON(text []byte, escaped func(rune) bool) []byte {
	var b strings.Builder
	changed := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case !escaped(r):
			b.Write(text[i : i+n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
			changed = true
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
			changed = true
		}
		i += n
	}
	if !changed {
		return text
	}
	return []byte(b.String())
}
