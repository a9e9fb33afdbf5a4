package user

import (
	"strings"

	"tune/internal/plain"
)

// A text that is run by sh -c is a program, but a value in it must remain a value: "a; rm -rf x" must become a word with a
// semicolon. So each placeholder is quoted for its context: bare, or within the user's own quotes. In some contexts no quoting is
// right, because the shell reads the text twice or by other rules. Only values that need no quotes are allowed there.

// quoting is the context of a placeholder in a shell's text.
type quoting uint8

const (
	bare    quoting = iota
	double          // within "…"
	single          // within '…'
	nowhere         // no quoting works for every value
)

// shellPlaces returns the context of each placeholder in a command line, and for the context nowhere the reason; parts that are
// no placeholder have neither. It follows the token rules of the shell command language (POSIX.1-2024, 2.2 and 2.3).
func shellPlaces(t template) (places []quoting, reasons []string) {
	places, reasons = make([]quoting, len(t.parts)), make([]string, len(t.parts))
	s := shellScan{stack: []opening{wholeText}}
	for i, p := range t.parts {
		if !p.place() {
			s.read(p.text)
			continue
		}
		places[i], reasons[i] = s.place()
		s.escape, s.dollar, s.word = false, false, true
	}
	return places, reasons
}

// shellScan is the state of reading a shell's text.
type shellScan struct {
	stack  []opening // constructs that are open, at least the text itself
	escape bool      // a backslash came last
	dollar bool      // a dollar sign came last
	less   bool      // a < came last
	word   bool      // within a word, where # begins no comment
	recent string    // the word so far
	lost   string    // why the context of everything that follows is unknown, "" where it is known
}

// opening is an open construct.
type opening uint8

const (
	wholeText opening = iota
	doubleQuote
	singleQuote
	substitution // $(…)
	subshell     // (…)
	arithmetic   // $((…)), or a parenthesis in one
	expansion    // ${…}
	backticks
	comment
)

// noPlace says why no quoting works in some constructs.
var noPlace = map[opening]string{
	backticks:  "it stands between backticks, whose text the shell reads twice",
	expansion:  "it stands in ${…}",
	arithmetic: "it stands in $((…)), which is arithmetic",
	comment:    "it stands in a comment",
}

func (s *shellScan) top() opening   { return s.stack[len(s.stack)-1] }
func (s *shellScan) push(o opening) { s.stack = append(s.stack, o) }
func (s *shellScan) pop()           { s.stack = s.stack[:len(s.stack)-1] }

// lose says that the context of everything that follows is unknown.
func (s *shellScan) lose(why string) {
	if s.lost == "" {
		s.lost = why
	}
}

// place returns the context of a placeholder at the current position.
func (s *shellScan) place() (quoting, string) {
	switch {
	case s.lost != "":
		return nowhere, s.lost
	case s.escape:
		return nowhere, "it comes after a backslash"
	case s.dollar:
		return nowhere, "it comes after a dollar sign"
	}
	for _, o := range s.stack {
		if why := noPlace[o]; why != "" {
			return nowhere, why
		}
	}
	switch s.top() {
	case doubleQuote:
		return double, ""
	case singleQuote:
		return single, ""
	}
	return bare, ""
}

// read follows a stretch of text.
func (s *shellScan) read(text string) {
	runes := []rune(text)
	for i, r := range runes {
		s.step(r, i+1 < len(runes) && runes[i+1] == '(')
	}
}

// step follows one character. paren says that the next one is an opening parenthesis.
func (s *shellScan) step(r rune, paren bool) {
	if s.escape {
		s.escape, s.word = false, s.word || r != '\n' // an escaped newline is removed
		return
	}
	dollar, less := s.dollar, s.less
	s.dollar, s.less = false, false
	top := s.top()
	switch {
	case top == comment:
		if r == '\n' {
			s.pop()
			s.word, s.recent = false, ""
		}
		return
	case top == singleQuote:
		if r == '\'' {
			s.pop()
		}
		return
	case r == '\\':
		s.escape = true
		return
	case top == backticks:
		switch r {
		case '`':
			s.pop()
			s.word = true
		case '"', '\'':
			s.lose("it comes after a quote between backticks, which shells read differently: write $(…)")
		}
		return
	case r == '`':
		s.push(backticks)
		return
	case dollar && r == '(' && paren:
		s.push(arithmetic) // the second parenthesis opens another one
		return
	case dollar && r == '(':
		s.push(substitution)
		s.word, s.recent = false, ""
		return
	case dollar && r == '{':
		s.push(expansion)
		return
	case dollar && r == '\'' && top != doubleQuote:
		s.lose("it comes after $'…', which shells read differently")
		return
	case r == '$':
		s.dollar, s.word = true, true
		return
	}
	switch top {
	case doubleQuote:
		if r == '"' {
			s.pop()
		}
	case arithmetic:
		switch r {
		case '(':
			s.push(arithmetic)
		case ')':
			s.pop()
			s.word = true
		case '"', '\'':
			s.lose("it comes after a quote in $((…))")
		}
	case expansion:
		switch r {
		case '}':
			s.pop()
			s.word = true
		case '"', '\'', '#':
			s.lose("it comes after a quote or a # in ${…}, which shells read differently")
		}
	default:
		s.command(r, less)
	}
}

// command processes a character of a command, outside of all quotes.
func (s *shellScan) command(r rune, less bool) {
	switch {
	case r == '"':
		s.push(doubleQuote)
		s.word = true
	case r == '\'':
		s.push(singleQuote)
		s.word = true
	case r == '#' && !s.word:
		s.push(comment)
	case r == '<':
		if less {
			s.lose("it comes after <<, which begins a here-document")
		}
		s.less, s.word, s.recent = true, false, ""
	case r == '(':
		s.push(subshell)
		s.word, s.recent = false, ""
	case r == ')':
		top := s.top()
		if top != wholeText { // the end of a pattern of a case
			s.pop()
		}
		s.word, s.recent = top == substitution, ""
	case strings.ContainsRune(" \t\n;&|>", r):
		if s.recent == "case" && s.top() != wholeText {
			s.lose("it comes after a case within parentheses, whose patterns have parentheses of their own")
		}
		s.word, s.recent = false, ""
	default:
		s.word = true
		s.recent += string(r)
	}
}

// shellSafe reports whether a value needs no quotes anywhere in a shell's text.
func shellSafe(value string) bool { return value == "" || plain.ShellWord(value) == value }

// shellQuote quotes a value for its context.
func shellQuote(value string, where quoting) string {
	switch {
	case shellSafe(value) || where == nowhere:
		return value // for the context nowhere, unsafe values were refused before
	case where == double:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value)
	case where == single:
		return strings.ReplaceAll(value, `'`, `'\''`)
	}
	return plain.ShellWord(value)
}

// expandShell inserts the values, quoted for their contexts. An empty one leaves nothing.
func expandShell(t template, places []quoting, v values) string {
	var b strings.Builder
	for i, p := range t.parts {
		if !p.place() {
			b.WriteString(p.text)
			continue
		}
		text := ""
		if value, err := p.value(v); err == nil {
			text = shellQuote(valueText(value), places[i])
		}
		if text == "" && places[i] == bare && i+1 < len(t.parts) && strings.HasPrefix(t.parts[i+1].text, "#") {
			text = "''" // otherwise a comment would begin here
		}
		b.WriteString(text)
	}
	return b.String()
}
