package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tune/internal/plain"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

var kindNames = [...]string{"null", "a truth value", "a number", "a string", "a list", "an object"}

// node is a JSON value that keeps how it was written: the text of its numbers and strings, the order of its keys, and its
// position. So a file that is read and written again keeps every value as it was, with unknown keys.
type node struct {
	kind  kind
	off   int    // where it begins in the text
	raw   string // of a scalar, as it was written
	keys  []key  // of an object, beside items
	items []node
}

// key is the key of a member of an object.
type key struct {
	name string
	raw  string // with its quotes
	off  int
}

// deepest bounds how deep values may nest; the formats need four levels.
const deepest = 64

// parser reads one JSON text. In addition to the standard it accepts NaN and Infinity, which Python writes.
type parser struct {
	text    string
	at      int
	nodes   int // values so far
	observe Observer
}

// mostNodes bounds the values of a text. Each takes some 80 bytes in memory, and may take two in the text.
const mostNodes = 1 << 24

// many is how many values a list or object has before room is reserved for the rest at once: a list that grows step by step
// leaves several times its size as garbage.
const many = 1 << 12

// rest counts the values that follow in a list or object whose text goes on here.
func (p *parser) rest() int {
	count, depth := 0, 0
	for i := p.at; i < len(p.text) && count < mostNodes; i++ {
		switch p.text[i] {
		case '"':
			for i++; i < len(p.text) && p.text[i] != '"'; i++ {
				if p.text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return count
			}
		case ',':
			if depth == 0 {
				count++
			}
		}
	}
	return count
}

// fault is an error at a position of a text.
type fault struct {
	off  int
	text string
}

func (f *fault) Error() string { return f.text }

// errEnds marks a text that ends before its value does.
var errEnds = errors.New("it ends too early")

func (p *parser) fail(format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	if p.at < len(p.text) && (p.text[p.at] == '/' || p.text[p.at] == '#') {
		reason += ": JSON has no comments; leave it out"
	}
	return &fault{p.at, reason}
}

func (p *parser) blank() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// parse reads a text that holds one value.
func parse(text string) (node, error) { return (&parser{text: text}).whole() }

// whole reads the only value of the text.
func (p *parser) whole() (node, error) {
	n, err := p.value(0)
	if err != nil {
		return node{}, err
	}
	if p.blank(); p.at < len(p.text) {
		return node{}, p.fail("there is text after the JSON value")
	}
	return n, nil
}

func (p *parser) value(depth int) (node, error) {
	p.blank()
	if p.at == len(p.text) {
		return node{}, errEnds
	}
	if depth > deepest {
		return node{}, p.fail("values nest deeper than %d levels", deepest)
	}
	if p.nodes++; p.nodes > mostNodes {
		return node{}, p.fail("it has more than %d values, the most that is read of such a file", mostNodes)
	}
	if p.nodes%tellEvery == 0 {
		p.observe.tell(Reading, p.at, len(p.text))
	}
	n := node{off: p.at}
	switch c := p.text[p.at]; {
	case c == '{':
		n.kind = kindObject
		return n, p.members(&n, depth)
	case c == '[':
		n.kind = kindArray
		return n, p.elements(&n, depth)
	case c == '"':
		n.kind = kindString
		raw, _, err := p.quoted()
		n.raw = raw
		return n, err
	case c == '-' || c >= '0' && c <= '9':
		return n, p.number(&n)
	}
	for _, w := range []struct {
		word string
		kind kind
	}{{"true", kindBool}, {"false", kindBool}, {"null", kindNull}, {"NaN", kindNumber}, {"Infinity", kindNumber}} {
		if rest := p.text[p.at:]; strings.HasPrefix(rest, w.word) {
			n.kind, n.raw = w.kind, rest[:len(w.word)]
			p.at += len(w.word)
			return n, nil
		} else if strings.HasPrefix(w.word, rest) {
			return n, errEnds
		}
	}
	return n, p.fail("want a JSON value, not %q", firstRune(p.text[p.at:]))
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func (p *parser) members(n *node, depth int) error {
	p.at++
	known := map[string]bool{}
	for {
		p.blank()
		switch {
		case p.at == len(p.text):
			return errEnds
		case p.text[p.at] == '}' && len(n.items) == 0:
			p.at++
			return nil
		case p.text[p.at] != '"':
			return p.fail("want a key in quotes, not %q", firstRune(p.text[p.at:]))
		}
		k := key{off: p.at}
		var err error
		if k.raw, k.name, err = p.quoted(); err != nil {
			return err
		}
		if known[k.name] {
			return &fault{k.off, fmt.Sprintf("the key %s is there twice", k.raw)}
		}
		known[k.name] = true
		if p.blank(); p.at == len(p.text) {
			return errEnds
		}
		if p.text[p.at] != ':' {
			return p.fail("want a colon after the key %s, not %q", k.raw, firstRune(p.text[p.at:]))
		}
		p.at++
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.keys, n.items = append(n.keys, k), append(n.items, item)
		if len(n.items) == many {
			more := p.rest()
			n.keys, n.items = slices.Grow(n.keys, more), slices.Grow(n.items, more)
		}
		if done, err := p.separator('}'); done || err != nil {
			return err
		}
	}
}

func (p *parser) elements(n *node, depth int) error {
	p.at++
	if p.blank(); p.at < len(p.text) && p.text[p.at] == ']' {
		p.at++
		return nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		if len(n.items) == many {
			n.items = slices.Grow(n.items, p.rest())
		}
		if done, err := p.separator(']'); done || err != nil {
			return err
		}
	}
}

// separator reads a comma, or the end of a list or object.
func (p *parser) separator(end byte) (done bool, err error) {
	if p.blank(); p.at == len(p.text) {
		return false, errEnds
	}
	switch p.text[p.at] {
	case end:
		p.at++
		return true, nil
	case ',':
		p.at++
		return false, nil
	}
	return false, p.fail("want a comma or %q, not %q", string(end), firstRune(p.text[p.at:]))
}

// quoted reads a string, and returns its text and its value.
func (p *parser) quoted() (raw, value string, err error) {
	begin := p.at
	escaped := false
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			raw = p.text[begin:p.at]
			value = raw[1 : len(raw)-1]
			if escaped {
				if value, err = unescape(value); err != nil {
					return "", "", &fault{begin, err.Error()}
				}
			}
			if !utf8.ValidString(value) {
				return "", "", &fault{begin, "the string is not valid UTF-8"}
			}
			return raw, value, nil
		case c == '\\':
			escaped = true
			p.at++
		case c < ' ':
			return "", "", p.fail("a string has the control character %q: want an escape", c)
		}
	}
	p.at = len(p.text)
	return "", "", errEnds
}

// unescape resolves the escapes of a JSON string.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b', 'f', 'n', 'r', 't':
			b.WriteByte(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
		case 'u':
			r, ok := hexRune(s[i+1:])
			if !ok {
				return "", fmt.Errorf("the string has an escape \\u without four hexadecimal digits")
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 && strings.HasPrefix(s[i+1:], `\u`) {
				if low, ok := hexRune(s[i+3:]); ok && low >= 0xDC00 && low < 0xE000 {
					r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
					i += 6
				}
			}
			b.WriteRune(r) // half of a pair becomes U+FFFD
		default:
			return "", fmt.Errorf("the string has the unknown escape \\%s", firstRune(s[i:]))
		}
	}
	return b.String(), nil
}

func hexRune(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:4], 16, 32)
	return rune(v), err == nil && !strings.ContainsAny(s[:4], "+_")
}

// number reads a number in the syntax of JSON, or -Infinity.
func (p *parser) number(n *node) error {
	n.kind = kindNumber
	s, i := p.text[p.at:], 0
	if s[0] == '-' {
		if i = 1; strings.HasPrefix(s[1:], "Infinity") {
			i += len("Infinity")
			n.raw = s[:i]
			p.at += i
			return nil
		}
	}
	digits := func() bool {
		begin := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > begin
	}
	first := i
	ok := digits() && (s[first] != '0' || i == first+1)
	if ok && i < len(s) && s[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		if i == len(s) {
			return errEnds
		}
		return p.fail("%q is not a JSON number", s[:min(i+1, len(s))])
	}
	n.raw = s[:i]
	p.at += i
	return nil
}

// get returns the member of that name, nil where there is none.
func (n *node) get(name string) *node {
	for i, k := range n.keys {
		if k.name == name {
			return &n.items[i]
		}
	}
	return nil
}

// str returns the value of a string. It is a copy, so that it does not keep the whole text in memory.
func (n *node) str() string {
	s := n.raw[1 : len(n.raw)-1]
	if strings.IndexByte(s, '\\') >= 0 {
		s, _ = unescape(s) // the parser has validated it
		return s
	}
	return strings.Clone(s)
}

// float returns a number: ±Inf where it does not fit.
func (n *node) float() float64 {
	if n.raw == "NaN" {
		return math.NaN()
	}
	v, _ := strconv.ParseFloat(n.raw, 64)
	return v
}

// Constructors of nodes without a position.

func textNode(s string) node {
	if isPlain(s) {
		return node{kind: kindString, raw: `"` + s + `"`}
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff && plain.Hidden(r):
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case plain.Hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return node{kind: kindString, raw: b.String()}
}

// isPlain reports whether a text is the same in JSON between quotes, as nearly every one is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// floatNode is a number as the shortest text that reads back as the same.
func floatNode(v float64) node {
	switch {
	case math.IsNaN(v):
		return node{kind: kindNumber, raw: "NaN"}
	case math.IsInf(v, 0):
		return node{kind: kindNumber, raw: map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0]}
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return node{kind: kindNumber, raw: strconv.FormatFloat(v, 'f', -1, 64)}
	}
	return node{kind: kindNumber, raw: strconv.FormatFloat(v, 'g', -1, 64)}
}

func intNode(v int) node { return node{kind: kindNumber, raw: strconv.Itoa(v)} }

func nullNode() node { return node{raw: "null"} }

func listNode(items ...node) node { return node{kind: kindArray, items: items} }

func objectNode() *node { return &node{kind: kindObject} }

// set adds a member, or replaces the one of that name.
func (n *node) set(name string, v node) *node {
	if old := n.get(name); old != nil {
		*old = v
		return n
	}
	n.keys = append(n.keys, key{name: name, raw: textNode(name).raw})
	n.items = append(n.items, v)
	return n
}

// emitter writes nodes with the separators of Python's json module, so that a file that Python wrote comes out byte for byte.
type emitter struct {
	w *bufio.Writer
}

// flat writes a value in one line.
func (e emitter) flat(n *node) {
	switch n.kind {
	case kindArray:
		e.w.WriteByte('[')
		for i := range n.items {
			if i > 0 {
				e.w.WriteString(", ")
			}
			e.flat(&n.items[i])
		}
		e.w.WriteByte(']')
	case kindObject:
		e.w.WriteByte('{')
		for i := range n.items {
			if i > 0 {
				e.w.WriteString(", ")
			}
			e.w.WriteString(n.keys[i].raw)
			e.w.WriteString(": ")
			e.flat(&n.items[i])
		}
		e.w.WriteByte('}')
	default:
		e.w.WriteString(n.raw)
	}
}

// indented writes a value with every member and element in a line of its own; unit is the indent of one level.
func (e emitter) indented(n *node, unit, indent string) {
	if len(n.items) == 0 {
		e.flat(n)
		return
	}
	open, end := byte('['), byte(']')
	if n.kind == kindObject {
		open, end = '{', '}'
	}
	e.w.WriteByte(open)
	inner := indent + unit
	for i := range n.items {
		if i > 0 {
			e.w.WriteByte(',')
		}
		e.w.WriteByte('\n')
		e.w.WriteString(inner)
		if n.kind == kindObject {
			e.w.WriteString(n.keys[i].raw)
			e.w.WriteString(": ")
		}
		e.indented(&n.items[i], unit, inner)
	}
	e.w.WriteString("\n" + indent)
	e.w.WriteByte(end)
}

// members writes an object, with a text before each member and one before its end; one writes the value of a member. On a line of
// its own an object has a space between its members.
func (e emitter) members(n *node, before, end string, one func(i int) error) error {
	e.w.WriteByte('{')
	for i := range n.items {
		e.separate(i, before)
		e.w.WriteString(n.keys[i].raw)
		e.w.WriteString(": ")
		if err := one(i); err != nil {
			return err
		}
	}
	e.w.WriteString(end + "}")
	return nil
}

// list writes a list of rows in the same way.
func (e emitter) list(rows Rows, before, end string, one func(*Row)) error {
	e.w.WriteByte('[')
	i := 0
	for r, err := range rows {
		if err != nil {
			return err
		}
		e.separate(i, before)
		one(r)
		i++
	}
	if i > 0 {
		e.w.WriteString(end)
	}
	return e.w.WriteByte(']')
}

// separate writes what comes before element i.
func (e emitter) separate(i int, before string) {
	switch {
	case i > 0 && before == "":
		e.w.WriteString(", ")
	case i > 0:
		e.w.WriteByte(',')
	}
	e.w.WriteString(before)
}

// emit writes to w what f emits.
func emit(w io.Writer, f func(emitter) error) error {
	b := bufio.NewWriter(w)
	if err := f(emitter{b}); err != nil {
		return err
	}
	return b.Flush()
}
