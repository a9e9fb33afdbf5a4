// Package plain makes untrusted text safe to show: output of a candidate or its compiler, and names and values from files that
// somebody else wrote. Terminals obey escape sequences, control characters break pages, and bidirectional controls show a text in
// a different order. None of them is left. Nor does a text leave its line, its comment or its string of C. It also has helpers for
// messages: counts with their nouns, long texts cut short, numbers, words of a shell.
package plain

import (
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tune/internal/pattern"
)

// replacement stands for what cannot be shown.
const replacement = '\uFFFD'

// sequence matches the escape sequences of terminals (ECMA-48): strings such as the title of a window (OSC, DCS, PM, APC, SOS),
// control sequences such as colours (CSI), and the short ones. Compilers print colours, so sequences are removed and not
// replaced. Of a string without an end only the introducer is removed.
var sequence = pattern.Lazy(`(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}\n]*(?:\x07|\x1b\\|\x{9c})` +
	`|(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
	`|\x1b[ -/]*[0-~]`)

// Line returns a text as one line: without escape sequences, with spaces for line ends and tabs, and with U+FFFD for every other
// character that is not safe to show.
func Line(s string) string {
	if clean(s, "") {
		return s
	}
	s = strings.ReplaceAll(remove(s), "\r\n", " ")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return shown(r)
	}, s)
}

// Text is Line for a text of several lines: it keeps line ends and tabs.
func Text(s string) string {
	if clean(s, "\n\t") {
		return s
	}
	return strings.Map(keepLines, strings.ReplaceAll(remove(s), "\r\n", "\n"))
}

// keepLines is shown for a text of several lines. A carriage return, which would let the rest overwrite the line, becomes a
// space.
func keepLines(r rune) rune {
	switch r {
	case '\n', '\t':
		return r
	case '\r':
		return ' '
	}
	return shown(r)
}

// remove takes escape sequences out, and makes the text valid UTF-8. Removing one sequence may join the parts of another, so the
// result is checked again.
func remove(s string) string {
	s = strings.ToValidUTF8(s, string(replacement))
	for {
		next := sequence().ReplaceAllString(s, "")
		if next == s {
			return s
		}
		s = next
	}
}

// clean reports whether a text needs no change; also are further characters that it may have.
func clean(s, also string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r != shown(r) && !strings.ContainsRune(also, r) {
			return false
		}
		i += n
	}
	return true
}

// shown returns the character that stands for r.
func shown(r rune) rune {
	if Hidden(r) {
		return replacement
	}
	return r
}

// Hidden reports whether a character changes how a text is shown instead of being shown: control characters (C0, DEL, C1), format
// characters including bidirectional overrides, and line separators. Line ends and tabs count too.
func Hidden(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) && r != '\u00ad'
}

// Writer passes text on to w as Text would make it, except that of an escape sequence only the escape character is replaced,
// because a sequence may arrive in pieces. Flush writes the rest of an incomplete character. Goroutines may share it.
type Writer struct {
	// ASCII writes the symbols that tune's own messages have in ASCII; see ASCII.
	ASCII bool

	mu   sync.Mutex
	w    io.Writer
	rest []byte // of a character that is not whole yet
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				whole = at
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[whole:]...)
	if err := w.write(text[:whole]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is left.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	return w.write(rest)
}

func (w *Writer) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	s := string(text)
	if !clean(s, "\n\t") {
		s = strings.Map(keepLines, strings.ToValidUTF8(s, string(replacement)))
	}
	if w.ASCII {
		s = ASCII(s)
	}
	_, err := io.WriteString(w.w, s)
	return err
}

// symbols are the characters beyond ASCII that tune's own messages have.
var symbols = strings.NewReplacer(" · ", " | ", "·", "*", "×", "x", "µ", "u", "–", "-", "…", "...", "±", "+-", "ᵀ", "^T", string(replacement), "?")

// ASCII returns a text with ASCII in place of the symbols that tune's own messages have. Names of users stay as they are.
func ASCII(s string) string { return symbols.Replace(s) }
