package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
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

// NotJSON says in words what is wrong with a text that an error of encoding/json refuses, and what to do. The words for another error, and
// for a text that is not at hand, are its own.
func NotJSON(text []byte, err error) string {
	if text != nil && len(bytes.TrimSpace(text)) == 0 {
		return "it is empty"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tooShort
	}
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	at := int(syntax.Offset) - 1
	if !names(syntax, text, at) && names(syntax, text, at+1) {
		at++ // json.Decoder counts from 0
	}
	if text == nil {
		return err.Error()
	}
	if at < 0 || at >= len(text) || strings.HasPrefix(syntax.Error(), "unexpected end") {
		return tooShort
	}
	r, _ := utf8.DecodeRune(text[at:])
	is := func(phrase string) bool { return strings.Contains(syntax.Error(), phrase) }
	before := bytes.TrimRight(text[:at], " \t\r\n")
	comma := bytes.HasSuffix(before, []byte(","))
	switch {
	case r == '/' || r == '#':
		return "JSON has no comments: leave it out"
	case (r == '}' || r == ']') && comma:
		return fmt.Sprintf("a comma stands before the %c: leave it out", r)
	case r == '\'':
		return "a text is in single quotes: write double quotes"
	case is("looking for beginning of object key"):
		return fmt.Sprintf("%s stands where a key begins: write the key in double quotes", word(text[at:]))
	case is("looking for beginning of value"), is("in literal"):
		return noValue(text, at)
	case is("after object key:value pair"), is("after array element"):
		return fmt.Sprintf("a comma is missing before %s", word(text[at:]))
	case is("after object key"):
		return fmt.Sprintf("a colon is missing before %s", word(text[at:]))
	case is("after top-level value"):
		return fmt.Sprintf("%s follows the end of the value: leave it out", word(text[at:]))
	case is("string escape"), is("character escape"):
		return "a backslash begins no escape here: write \\\\ for a backslash"
	case is("in string literal"):
		return "a text has a line break or another control character: close its quotes, or write \\n for a line break"
	case is("numeric literal"):
		return fmt.Sprintf("%s cannot stand in a number: write it as 1.5 or 1e6", word(text[at:]))
	}
	return fmt.Sprintf("%s cannot stand here", word(text[at:]))
}

// names reports whether an error of encoding/json names the character at a place of a text.
func names(err error, text []byte, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	quoted := strconv.Quote(string(rune(text[at])))
	quoted = quoted[1 : len(quoted)-1]
	switch text[at] {
	case '"':
		quoted = `"`
	case '\'':
		quoted = `\'`
	}
	return strings.HasPrefix(err.Error(), "invalid character '"+quoted+"'")
}

const tooShort = "it ends too early: a quote, bracket or brace is not closed"

// noValue says what stands at a place where a value begins, or in a word that is none. Of several words only what they most likely stand for
// is said.
func noValue(text []byte, at int) string {
	for at > 0 && wordly(rune(text[at-1])) {
		at--
	}
	w := word(text[at:])
	meant := map[string]string{"true": "true", "false": "false", "none": "null", "null": "null", "nil": "null", "nan": "null", "undefined": "null", "infinity": "null"}
	if m := meant[strings.ToLower(w)]; m != "" {
		return fmt.Sprintf("%s is no value of JSON: write %s", w, m)
	}
	if wordly([]rune(w)[0]) {
		return fmt.Sprintf("%s is no value of JSON: write a text in double quotes", w)
	}
	return fmt.Sprintf("a value is missing before %s", w)
}

// wordly reports a character of words.
func wordly(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// word returns the word that a text begins with, or its first character.
func word(text []byte) string {
	end := bytes.IndexFunc(text, func(r rune) bool { return !wordly(r) })
	switch r, n := utf8.DecodeRune(text); {
	case end < 0:
		end = len(text)
	case end == 0 && (Hidden(r) || r == utf8.RuneError):
		return strconv.QuoteRuneToASCII(r)
	case end == 0:
		end = n
	}
	return string(text[:min(end, 40)])
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
