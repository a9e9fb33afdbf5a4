package space

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tune/internal/pattern"
)

// TextError is a mistake in the syntax of a YAML text.
type TextError struct {
	Line, Column int // from 1, in characters
	Reason       string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// SyntaxError returns an error of the YAML package about a text as a *TextError, which says where the mistake most likely is and what to do.
// An error that is not about the syntax, or about no line, is returned as it is.
func SyntaxError(data []byte, err error) error {
	says, named := wordsOf(err)
	if says == "" {
		return err
	}
	if at := unreadable(data); at >= 0 && (strings.Contains(says, "control characters") || strings.Contains(says, "UTF-8")) {
		if slices.Contains(data, 0) {
			return &TextError{1, 1, "it has NUL characters, as programs have: want a text in YAML"}
		}
		before := string(data[:at])
		return &TextError{1 + strings.Count(before, "\n"), columnAt(before[strings.LastIndexByte(before, '\n')+1:], at-strings.LastIndexByte(before, '\n')-1), says + ": remove it"}
	}
	lines := strings.Split(string(data), "\n")
	if anchor, ok := strings.CutPrefix(says, "unknown anchor '"); ok {
		return unknownAnchor(lines, strings.TrimSuffix(anchor, "' referenced"), err)
	}
	begun := beginning(lines, says)
	if begun == 0 {
		begun = min(named, len(lines))
	}
	if begun < 1 {
		return err
	}
	if bad := mistyped(lines, begun, max(named, 1)); bad != nil {
		return bad
	}
	switch says {
	case noElement, noKey:
		return misplaced(lines, begun, says)
	case noListComma, noMappingComma, noContent:
		if bad := unbalanced(lines, begun); bad != nil {
			return bad
		}
		if bad := badBeginning(lines[begun-1], begun, "!"); bad != nil {
			return bad
		}
		if bad := crowded(lines, begun); bad != nil && says != noContent {
			return bad
		}
	case "found unknown escape character", "did not find expected hexdecimal number":
		if bad := badEscape(lines, begun); bad != nil {
			return bad
		}
	case "found character that cannot start any token", "did not find expected alphabetic or numeric character", "did not find expected whitespace or line break":
		if bad := badBeginning(lines[begun-1], begun, "@`%*&!|>"); bad != nil {
			return bad
		}
	case "did not find expected comment or line break":
		if bad := badBeginning(lines[begun-1], begun, "&!|>"); bad != nil {
			return bad
		}
	}
	return &TextError{begun, firstColumn(lines[begun-1]), withRemedy(says)}
}

// What the YAML package says of what is in no place for it.
const (
	noElement      = "did not find expected '-' indicator"
	noKey          = "did not find expected key"
	noListComma    = "did not find expected ',' or ']'"
	noMappingComma = "did not find expected ',' or '}'"
	noContent      = "did not find expected node content"
	noDocument     = "did not find expected <document start>"
)

// syntaxRemedies say what to do where the YAML package says something.
var syntaxRemedies = map[string]string{
	"mapping values are not allowed in this context":         `the line before lacks a colon, this line is indented too far, or a text with ": " in it needs quotes`,
	"block sequence entries are not allowed in this context": "begin the list on a line of its own, below its key",
	noListComma:                      "the list that begins here needs commas between its elements, and a text with quotes or brackets in it needs quotes of the other kind",
	noMappingComma:                   "the mapping that begins here needs commas between its fields, and a text with quotes or brackets in it needs quotes of the other kind",
	noContent:                        "a list or mapping lacks a value, or its closing bracket",
	"found unexpected end of stream": "a text in quotes lacks the closing quote",
	"could not find expected ':'":    "a key needs a colon and a blank behind it",
	"found character that cannot start any token": "put the text into quotes",
	noDocument: "indent this line like the others, or begin it with a key and a colon",
}

// withRemedy adds what to do to what the YAML package says.
func withRemedy(says string) string {
	if remedy := syntaxRemedies[says]; remedy != "" {
		return says + ": " + remedy
	}
	return says
}

// packageError matches an error of the YAML package about the syntax. Its groups are the line, if there is one, and the words.
var packageError = pattern.Lazy(`^yaml: (?:line (\d+): )?([^\n]+)$`)

// wordsOf returns what an error of the YAML package says, and the line that it names, 0 for none. says is "" for another error.
func wordsOf(err error) (says string, line int) {
	if _, types := errors.AsType[*yaml.TypeError](err); types {
		return "", 0
	}
	m := packageError().FindStringSubmatch(err.Error())
	if m == nil {
		return "", 0
	}
	line, _ = strconv.Atoi(m[1])
	return m[2], line
}

// reread returns what the YAML package says of lines with a comment before them, so that none of its positions is in the first line,
// where it takes them for missing.
func reread(lines []string) (says string, line int) {
	d := yaml.NewDecoder(strings.NewReader("#\n" + strings.Join(lines, "\n")))
	for {
		if err := d.Decode(new(yaml.Node)); err != nil {
			return wordsOf(err) // of the end of the text too, which says nothing
		}
	}
}

// beginning returns the line where what the YAML package says something of begins; 0 where it is unknown. The package counts the lines of
// what it has parsed from 0, and those of what it could not even divide into words from 1.
func beginning(lines []string, says string) int {
	again, line := reread(lines)
	if again != says || line == 0 {
		return 0
	}
	if !slices.Contains([]string{noElement, noKey, noListComma, noMappingComma, noContent, noDocument}, says) {
		line--
	}
	for line > 1 && (line > len(lines) || strings.TrimSpace(lines[line-1]) == "") {
		line-- // the end of the text
	}
	return line
}

// mistyped returns what most often is wrong near a line: a tab in the indentation, or a placeholder without quotes. named is the line that
// the YAML package names, which may be another one.
func mistyped(lines []string, begun, named int) error {
	for i, text := range lines {
		indent := text[:len(text)-len(strings.TrimLeft(text, " \t-"))]
		at := strings.IndexByte(indent, '\t')
		near := max(i+1-begun, begun-i-1) <= 1 || max(i+1-named, named-i-1) <= 1
		if at >= 0 && strings.TrimSpace(text) != "" && near {
			return &TextError{i + 1, at + 1, "a tab indents this line, but YAML is indented by spaces: replace it by spaces"}
		}
	}
	for i := begun - 1; i < len(lines); i++ {
		if at := barePlaceholder(lines[i]); at >= 0 {
			bad := &TextError{i + 1, columnAt(lines[i], at), "{{ begins a mapping in YAML: write a text that has it in quotes, \"…{{…}}…\""}
			if at > 0 && strings.Contains("\"'", lines[i][at-1:at]) {
				bad.Reason = "the text in quotes ends before {{: put a text with quotes in it into quotes of the other kind"
			}
			return bad
		}
	}
	return nil
}

// barePlaceholder returns where {{ stands in a line of YAML outside of quotes: at the beginning of a value, or in a list or mapping
// that begins in this line. It is -1 where it stands nowhere.
func barePlaceholder(line string) int {
	quote, depth := byte(0), 0
	begins := true // whether a value or a key may begin here
	for i := range len(line) {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case begins && (c == '"' || c == '\''):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return -1
		case (begins || depth > 0) && strings.HasPrefix(line[i:], "{{"):
			return i
		case begins && (c == '[' || c == '{'), depth > 0 && (c == '[' || c == '{'):
			depth++
		case depth > 0 && (c == ']' || c == '}'):
			depth--
		}
		before := strings.HasPrefix(line[i+1:], " ")
		begins = c == '[' || c == '{' || c == ' ' && begins || c == ',' && depth > 0 || c == ':' && before || c == '-' && begins && before
	}
	return -1
}

// misplaced finds the line that does not fit the list or the mapping, without brackets, that begins in a line.
func misplaced(lines []string, begun int, says string) error {
	_, line := reread(lines)
	at := begun + sort.Search(len(lines)-begun, func(i int) bool {
		again, where := reread(lines[:begun+i])
		return again == says && where == line
	})
	text := lines[at-1]
	bad := &TextError{Line: at, Column: firstColumn(text)}
	first := lines[begun-1]
	inner := len(first) - len(strings.TrimLeft(first, " -")) // where the fields of the first element begin, or those of the mapping
	outer := len(first) - len(strings.TrimLeft(first, " "))
	own := len(text) - len(strings.TrimLeft(text, " "))
	above := inner // the indentation of the line above
	for n := at - 1; n >= begun; n-- {
		if before := lines[n-1]; strings.TrimSpace(before) != "" {
			above = len(before) - len(strings.TrimLeft(before, " -"))
			break
		}
	}
	switch stray, ends := strayBracket(text), endsBefore(text, "{{"); {
	case ends >= 0:
		bad.Column = columnAt(text, ends)
		bad.Reason = "the text in quotes ends before {{: put a text with quotes in it into quotes of the other kind"
	case stray >= 0:
		bad.Column, bad.Reason = columnAt(text, stray), fmt.Sprintf("%s closes nothing: leave it out", text[stray:stray+1])
	case says == noElement && own == outer:
		bad.Reason = fmt.Sprintf("the list that begins in line %d needs a - before each element: write one, or indent this line further", begun)
	case says == noElement:
		bad.Reason = fmt.Sprintf("this line fits nothing in the list that begins in line %d: indent it by %d spaces, as the fields of an element are", begun, inner)
	case strings.HasPrefix(text[own:], "- ") && at != begun:
		bad.Reason = fmt.Sprintf("an element of a list stands among the fields of the mapping that begins in line %d: indent it like the other elements, or leave the - out", begun)
	case own != inner && at != begun && above != inner:
		bad.Reason = fmt.Sprintf("this line fits nothing in the mapping that begins in line %d: indent it by %d spaces, as its fields are, or by %d, as the line above", begun, inner, above)
	case own != inner && at != begun:
		bad.Reason = fmt.Sprintf("this line fits nothing in the mapping that begins in line %d: indent it by %d spaces, as its other fields are", begun, inner)
	default:
		bad.Reason = "something follows a text that has ended, or a key without its colon: put a text with quotes in it into quotes of the other kind, and a colon behind a key"
	}
	return bad
}

// endsBefore returns where something follows a text in quotes at once; -1 where it does not.
func endsBefore(line, what string) int {
	w := brackets{begins: true}
	for i := 0; i < len(line); i++ {
		before := w.quote
		if w.step(line, &i); before != 0 && w.quote == 0 && strings.HasPrefix(line[min(i+1, len(line)):], what) {
			return i + 1
		}
	}
	return -1
}

// strayBracket returns where a closing bracket stands in a line behind a list or a mapping that is closed already; -1 where there is none.
func strayBracket(line string) int {
	w := brackets{begins: true}
	for i := 0; i < len(line); i++ {
		before := len(w.open)
		w.step(line, &i)
		if rest := strings.TrimLeft(line[min(i+1, len(line)):], " "); before > 0 && len(w.open) == 0 && strings.IndexAny(rest, "]}") == 0 {
			return len(line) - len(rest)
		}
	}
	return -1
}

// unbalanced returns what is wrong with the brackets of the list or the mapping that begins in a line; nil where they fit.
func unbalanced(lines []string, begun int) error {
	w := brackets{}
	for n := begun; n <= len(lines) && (n == begun || len(w.open) > 0); n++ {
		text := lines[n-1]
		w.begins, w.line = true, n
		for i := 0; i < len(text) && w.quote != '#'; i++ {
			w.step(text, &i)
			if !w.stray {
				continue
			}
			bad := &TextError{Line: n, Column: columnAt(text, i)}
			if len(w.open) == 0 {
				bad.Reason = fmt.Sprintf("%s closes nothing: leave it out", text[i:i+1])
				return bad
			}
			top := w.open[len(w.open)-1]
			how := "instead"
			if slices.ContainsFunc(w.open, func(b bracket) bool { return closing[b.char] == text[i] }) {
				how = "before it"
			}
			bad.Reason = fmt.Sprintf("%s cannot close the %c of line %d, column %d: write %c %s", text[i:i+1], top.char, top.line, top.column, closing[top.char], how)
			return bad
		}
		if w.quote == '#' {
			w.quote = 0
		}
	}
	if len(w.open) == 0 {
		return nil
	}
	top := w.open[len(w.open)-1]
	return &TextError{top.line, top.column, fmt.Sprintf("%c is not closed: write %c at the end of the %s that begins here", top.char, closing[top.char], map[byte]string{'[': "list", '{': "mapping"}[top.char])}
}

// crowded finds the element of a list or mapping in brackets, which begins in a line, that lacks a comma; nil where it finds none. What ends
// before that element, and is closed there, can be read.
func crowded(lines []string, begun int) error {
	const most = 1 << 12 // bytes
	w := brackets{}
	var read strings.Builder
	line, column := 0, 0 // of the element
	for n := begun; n <= len(lines) && read.Len() < most && (n == begun || len(w.open) > 0); n++ {
		text := lines[n-1]
		w.begins, w.line = true, n
		for i := 0; i < len(text) && w.quote != '#'; i++ {
			at, c, before := i, text[i], len(w.open)
			if before > 0 && w.quote == 0 && strings.IndexByte(",]}", c) >= 0 {
				again := read.String()
				for _, b := range slices.Backward(w.open) {
					again += string(closing[b.char])
				}
				if says, _ := reread([]string{again}); says != "" && line > 0 {
					return &TextError{line, column, "a comma is missing in this element, or before it: write one, or put a text with quotes, brackets or \": \" in it into quotes"}
				}
				line = 0
			} else if line == 0 && before > 0 && strings.IndexByte(" [{", c) < 0 {
				line, column = n, columnAt(text, at)
			}
			if w.step(text, &i); before > 0 || len(w.open) > 0 {
				read.WriteString(text[at:min(i+1, len(text))])
			}
		}
		if w.quote == '#' {
			w.quote = 0
		}
		read.WriteByte(' ')
	}
	return nil
}

// unreadable returns the offset of the first character that no YAML text has: a control character, or what is no UTF-8; -1 where there is none.
func unreadable(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) {
			return at
		}
		at += size
	}
	return -1
}

var closing = map[byte]byte{'[': ']', '{': '}'}

// bracket is a bracket that is open.
type bracket struct {
	char         byte
	line, column int
}

// brackets goes through lines of YAML, in which values may stand in brackets and in quotes.
type brackets struct {
	open   []bracket
	quote  byte // the quote that is open, # in a comment
	begins bool // whether a value or a key may begin here
	line   int
	stray  bool // whether the last bracket closes none that is open
}

// step takes the character at i of a line, and moves i over an escape.
func (w *brackets) step(line string, i *int) {
	c := line[*i]
	next := byte(' ')
	if *i+1 < len(line) {
		next = line[*i+1]
	}
	switch {
	case w.quote == '"' && c == '\\', w.quote == '\'' && c == '\'' && next == '\'':
		*i++
		return
	case w.quote != 0:
		if c == w.quote {
			w.quote = 0
		}
		w.begins = false
		return
	case w.begins && (c == '"' || c == '\''):
		w.quote = c
		return
	case c == '#' && (*i == 0 || line[*i-1] == ' '):
		w.quote = '#'
		return
	case (c == '[' || c == '{') && (w.begins || len(w.open) > 0):
		w.open, w.begins = append(w.open, bracket{c, w.line, columnAt(line, *i)}), true
		return
	case c == ']' || c == '}':
		if n := len(w.open); n > 0 && closing[w.open[n-1].char] == c {
			w.open = w.open[:n-1]
		} else {
			w.stray = true
		}
	}
	w.begins = c == ' ' && w.begins || c == ',' && len(w.open) > 0 || c == ':' && next == ' ' || c == '-' && w.begins && next == ' '
}

// escapes are the characters that may follow a backslash in double quotes.
const escapes = "0abtnvfre \t\"'\\N_LP"

// hexEscapes matches the escapes that are numbers.
var hexEscapes = pattern.Lazy(`^(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})`)

// badEscape returns the first backslash, from a line on, that is no escape; nil where there is none.
func badEscape(lines []string, begun int) error {
	for n := begun; n <= len(lines); n++ {
		text := lines[n-1]
		for i := 0; i+1 < len(text); i++ {
			if text[i] != '\\' {
				continue
			}
			if rest := text[i+1:]; !strings.Contains(escapes, rest[:1]) && !hexEscapes().MatchString(rest) {
				r, _ := utf8.DecodeRuneInString(rest)
				return &TextError{n, columnAt(text, i), fmt.Sprintf("\\%c is no escape in double quotes: write \\\\%[1]c, or put the text into single quotes, where a backslash is one", r)}
			}
			i++
		}
	}
	return nil
}

// noBeginning matches a value or a key that begins with what means something else to YAML. Its group is that character.
var noBeginning = pattern.Lazy("(?:^|[-:,] +|[\\[{] *)([@`%*&!|>])")

// badBeginning returns what is wrong where a value or a key in a line begins with one of some characters; nil where none does.
func badBeginning(line string, number int, chars string) error {
	for _, m := range noBeginning().FindAllStringSubmatchIndex(line, -1) {
		if char := line[m[2]:m[3]]; strings.Contains(chars, char) {
			remedy := "put it into quotes"
			if char == ">" {
				remedy += ", and an expression with what stands before its >"
			}
			return &TextError{number, columnAt(line, m[2]), fmt.Sprintf("a text cannot begin with %s without quotes: %s", char, remedy)}
		}
	}
	return nil
}

// Unread returns the first text in a document, which data is, of whose beginning YAML leaves out a !, as in - ! a > b, as a *TextError; nil
// where there is none.
func Unread(data []byte, n *yaml.Node) error {
	if !bytes.Contains(data, []byte("! ")) {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	line, chars := 0, []rune(nil) // the last line that was looked at
	var visit func(n *yaml.Node) error
	visit = func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Line <= len(lines) {
			if n.Line != line {
				line, chars = n.Line, []rune(lines[n.Line-1])
			}
			if n.Column < len(chars) && chars[n.Column-1] == '!' && chars[n.Column] == ' ' {
				return &TextError{n.Line, n.Column, fmt.Sprintf("YAML leaves out a ! that a blank follows: put the text into quotes, \"! %s\"", n.Value)}
			}
		}
		for _, child := range n.Content {
			if err := visit(child); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(n)
}

// Anchored says what to do about an expression that begins with &, which YAML takes for the name of a value, and that is wrong without it;
// "" where n is another.
func Anchored(n *yaml.Node) string {
	if n == nil || n.Anchor == "" {
		return ""
	}
	return fmt.Sprintf("YAML takes &%s for the name of this value: put an expression that begins with & into quotes", n.Anchor)
}

// unknownAnchor returns what is wrong where a text begins with *, which YAML takes for the name of something before it.
func unknownAnchor(lines []string, name string, err error) error {
	for n, text := range lines {
		if at := strings.Index(text, "*"+name); at >= 0 {
			return &TextError{n + 1, columnAt(text, at), fmt.Sprintf("YAML reads *%s as the name of a value before it: put a text that begins with * into quotes", name)}
		}
	}
	return err
}

// columnAt returns the column of an offset in bytes in a line.
func columnAt(line string, at int) int { return 1 + utf8.RuneCountInString(line[:at]) }

// firstColumn returns the column of the first character of a line that is no blank.
func firstColumn(line string) int { return 1 + len(line) - len(strings.TrimLeft(line, " ")) }
