package user

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tune/internal/pattern"
	"tune/space"
)

// reader collects the faults of a file while reading it.
type reader struct {
	file     string
	made     bool // whether the kernel is the copy of a run, which began with it
	faults   Faults
	warnings Faults
	listed   []*object // whose fields a fault has listed, which once is enough
}

// node is a YAML node with the path of its field.
type node struct {
	*yaml.Node
	path string
}

func (r *reader) fault(n node, format string, args ...any) {
	r.faults = append(r.faults, r.at(n, format, args...))
}

func (r *reader) warn(n node, format string, args ...any) {
	r.warnings = append(r.warnings, r.at(n, format, args...))
}

func (r *reader) at(n node, format string, args ...any) Fault {
	f := Fault{File: r.file, Field: n.path, Text: fmt.Sprintf(format, args...)}
	if n.Node != nil {
		f.Line, f.Column = n.Line, n.Column
	}
	return f
}

// want says what should stand in place of a node of another kind.
func (r *reader) want(n node, what string) {
	if text := unquoted(n.Node); text != "" {
		r.fault(n, "YAML reads %[1]s without quotes as a mapping: write it in quotes, \"%[1]s\"", text)
		return
	}
	r.fault(n, "want %s", what)
}

// unquoted returns the placeholder that a node was written as, {{name}}, which is a mapping within a mapping to YAML; "" where it is
// something else.
func unquoted(n *yaml.Node) string {
	for range 2 {
		if n == nil || n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 || n.Content[1].ShortTag() != "!!null" {
			return ""
		}
		n = n.Content[0]
	}
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	return "{{" + n.Value + "}}"
}

// faultInside reports a fault at an offset in bytes of a scalar's value.
func (r *reader) faultInside(n node, offset int, format string, args ...any) {
	f := r.at(n, format, args...)
	switch {
	case n.Node == nil || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		// The position where the lines of a block scalar begin is unknown.
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		f.Column += 1 + utf8.RuneCountInString(n.Value[:min(offset, len(n.Value))])
	default:
		f.Column += utf8.RuneCountInString(n.Value[:min(offset, len(n.Value))])
	}
	r.faults = append(r.faults, f)
}

// resolve follows an alias to its target.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// fields is a mapping with known fields.
type fields struct {
	r     *reader
	node  node
	table *object
	at    map[string]node
	meant []string // the known fields that unknown ones are most likely misspellings of
}

// fields reads a mapping. Whatever is wrong with it, the result can be read from.
func (r *reader) fields(n node, table *object) *fields {
	f := &fields{r: r, node: n, table: table, at: map[string]node{}}
	if n.Node == nil {
		return f
	}
	if n.Kind != yaml.MappingNode {
		if begun, rest, colon := strings.Cut(n.Value, ":"); colon && table.lookup(begun) != nil && !strings.Contains(rest, "\n") {
			r.fault(n, "put a blank behind the colon: %s: %s", begun, rest)
			return f
		}
		r.fault(n, "want a mapping with the fields %s%s", strings.Join(table.names(), ", "), table.meant(n))
		return f
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		at := node{key, n.child(key.Value)}
		known := table.lookup(key.Value)
		begun, rest, colon := strings.Cut(key.Value, ":")
		switch {
		case key.Kind != yaml.ScalarNode:
			at.path = n.path
			r.fault(at, "the name of a field has to be a text")
		case known == nil && colon && table.lookup(begun) != nil:
			at.path, f.meant = n.child(begun), append(f.meant, begun)
			r.fault(at, "put a blank behind the colon: %s: %s", begun, rest)
		case known == nil:
			hint, meant := table.hint(key.Value)
			f.meant = append(f.meant, meant)
			if hint == "" && !slices.Contains(r.listed, table) {
				r.listed = append(r.listed, table)
				hint = ": want one of " + strings.Join(table.names(), ", ")
				if table == fileObject {
					hint += "; settings, such as budget, stand under run"
				}
			}
			r.fault(at, "%s has no field %q%s", table.one(), key.Value, hint)
		case table == sourceObject && key.Value == "parameters" && value.Kind == yaml.SequenceNode:
			f.meant = append(f.meant, "arguments")
			r.fault(at, "want define or template: a list of the arguments of the function stands under arguments")
		case f.has(key.Value):
			r.fault(at, "it is on line %d already: leave one of the two out", f.at[key.Value].Line)
		case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
			r.fault(at, "it has no value: remove the line, or write one")
		default:
			f.at[key.Value] = node{value, at.path}
		}
	}
	for _, field := range table.fields {
		if field.required && !f.has(field.name) && !f.mentions(field.name) {
			r.fault(n, "the field %s is missing: %s", field.name, field.doc)
		}
	}
	return f
}

// meant shows the mapping that a text or a number in its place was most likely meant to be, as the end of a message.
func (o *object) meant(n node) string {
	first := o.fields[0]
	if _, err := strconv.ParseFloat(n.Value, 64); o == fillObject && err == nil {
		first = *o.lookup("constant")
	} else if first.form != formText && first.name != "run" || first.options != nil && !slices.Contains(first.options, n.Value) {
		return ""
	}
	const shown = 40 // characters
	if n.Kind != yaml.ScalarNode || n.Value == "" || len(n.Value) > shown || strings.ContainsAny(n.Value, "\n\r,[]{}\"'") {
		return ""
	}
	return fmt.Sprintf(", as in {%s: %s}", first.name, n.Value)
}

// holderOf returns the top field of a file that has a field of that name, "" where none has.
func holderOf(name string) string {
	for _, table := range []*object{kernelObject, spaceObject, sourceObject, commandObject} {
		if table.lookup(name) != nil {
			return table.what
		}
	}
	return ""
}

// mentions reports whether a field is in the file, with a value, without one, or misspelt.
func (f *fields) mentions(name string) bool {
	if slices.Contains(f.meant, name) {
		return true
	}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if resolve(f.node.Content[i]).Value == name {
			return true
		}
	}
	return false
}

// misspells reports whether a field may be in the file under a name that does not exist.
func (f *fields) misspells(name string) bool {
	return !f.has(name) && (slices.Contains(f.meant, name) || slices.Contains(f.meant, ""))
}

func (n node) child(name string) string {
	if n.path == "" {
		return name
	}
	return n.path + "." + name
}

func (f *fields) has(name string) bool { _, ok := f.at[name]; return ok }

// node returns the node of a field. For a missing field it has the position of the mapping.
func (f *fields) position(name string) node {
	if n, ok := f.at[name]; ok {
		return n
	}
	return node{f.node.Node, f.node.child(name)}
}

// object reads a field that is a mapping; where it is missing, the result has no field.
func (f *fields) object(name string) *fields {
	return f.r.fields(f.at[name], f.table.lookup(name).object)
}

// text reads a field that is a text, and "" where it is missing or no text.
func (f *fields) text(name string) string {
	n, ok := f.at[name]
	if !ok {
		return ""
	}
	return f.r.text(n, f.table.lookup(name).options)
}

// synonyms are words that people write for one of the words that a field takes.
var synonyms = map[string]string{
	"in": "read", "input": "read", "const": "read", "r": "read", "out": "write", "w": "write", "inout": "update", "rw": "update", "readwrite": "update", "both": "update",
	"min": "minimise", "minimum": "minimise", "lower": "minimise", "max": "maximise", "maximum": "maximise", "higher": "maximise",
	"stdout": "output", "wall": "time", "walltime": "time", "cputime": "cpu", "bytes": "size",
	"cpp": "c++", "cxx": "c++", "cc": "c++", "macro": "define", "defines": "define",
}

// tagged reports a text that YAML takes for a tag.
func (r *reader) tagged(n node) bool {
	text := space.Tagged(n.Node)
	if text != "" {
		r.fault(n, "YAML takes a text that begins with ! for a tag: write it in quotes, \"%s\"", text)
	}
	return text != ""
}

func (r *reader) text(n node, options []string) string {
	switch {
	case r.tagged(n):
	case n.Kind != yaml.ScalarNode:
		r.want(n, "a text")
	case options != nil && !slices.Contains(options, n.Value):
		hint := space.DidYouMean(n.Value, options)
		if other := synonyms[strings.ToLower(n.Value)]; slices.Contains(options, other) {
			hint = fmt.Sprintf(" (did you mean %q?)", other)
		}
		r.fault(n, "%q: want one of %s%s", n.Value, strings.Join(options, ", "), hint)
	case n.Value == "":
		r.fault(n, "it is empty: write a text, or leave it out")
	case strings.ContainsRune(n.Value, 0) || !utf8.ValidString(n.Value):
		r.fault(n, "it contains a NUL character or invalid UTF-8: remove it")
	default:
		return n.Value
	}
	return ""
}

// line reads a text of one line.
func (f *fields) line(name string) string {
	text := f.text(name)
	if strings.ContainsAny(text, "\n\r") {
		f.r.fault(f.at[name], "want one line")
		return ""
	}
	return text
}

// list returns the elements of a list field.
func (f *fields) list(name string) []node {
	n, ok := f.at[name]
	if !ok {
		return nil
	}
	return f.r.list(n)
}

func (r *reader) list(n node) []node {
	if n.Kind != yaml.SequenceNode {
		r.want(n, "a list"+listOf(n))
		return nil
	}
	const most = 1000
	if len(n.Content) > most {
		r.fault(n, "there are %d elements, and at most %d are allowed", len(n.Content), most)
		return nil
	}
	out := make([]node, len(n.Content))
	for i, c := range n.Content {
		out[i] = node{resolve(c), fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return out
}

// listOf shows the list that a text, a number or a mapping in its place was most likely meant to be, as the end of a message.
func listOf(n node) string {
	const shown = 40 // characters
	if n.Kind == yaml.ScalarNode && n.Value != "" && len(n.Value) <= shown && !strings.ContainsAny(n.Value, "\n\r,[]{}\"'") {
		return fmt.Sprintf(", as in [%s]", n.Value)
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 1 && n.Content[1].Kind == yaml.ScalarNode {
		return fmt.Sprintf(", as in [{%s: %s}]", n.Content[0].Value, n.Content[1].Value)
	}
	return ", as in [a, b]"
}

// texts reads a list of texts.
func (f *fields) texts(name string) (out []string, nodes []node) {
	for _, n := range f.list(name) {
		if text := f.r.text(n, f.table.lookup(name).element.options); text != "" {
			out, nodes = append(out, text), append(nodes, n)
		}
	}
	return out, nodes
}

// pair is an element of a mapping whose keys the user chooses.
type pair struct {
	name  string
	key   node
	value node
}

// pairs reads a mapping with arbitrary keys.
func (r *reader) pairs(n node, what string) []pair {
	if n.Node == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode || unquoted(n.Node) != "" {
		r.want(n, "a mapping from "+what)
		return nil
	}
	var out []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		at := node{key, n.child(key.Value)}
		switch {
		case key.Kind != yaml.ScalarNode:
			at.path = n.path
			r.want(at, "a name")
		case slices.ContainsFunc(out, func(p pair) bool { return p.name == key.Value }):
			r.fault(at, "it is given twice: leave one of the two out")
		default:
			out = append(out, pair{key.Value, at, node{value, at.path}})
		}
	}
	return out
}

// whole reads an integer; ok is false where it is missing or not an integer.
func (f *fields) whole(name string, low, high int64) (v int64, ok bool) {
	n, ok := f.at[name]
	if !ok {
		return 0, false
	}
	return f.r.whole(n, low, high)
}

func (r *reader) whole(n node, low, high int64) (v int64, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil || v < low || v > high {
		var x float64
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" && n.Decode(&x) == nil && x == math.Trunc(x) && x >= float64(low) && x <= float64(high) {
			r.fault(n, "want a whole number in digits: write %d", int64(x))
			return 0, false
		}
		r.fault(n, "want a whole number from %d to %d", low, high)
		return 0, false
	}
	return v, true
}

// number reads a number that is not negative.
func (f *fields) number(name string) float64 {
	n, ok := f.at[name]
	if !ok {
		return 0
	}
	var v float64
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || n.Decode(&v) != nil || !space.Finite(v) || v < 0 {
		f.r.fault(n, "want a number that is not negative")
		return 0
	}
	return v
}

func (f *fields) truth(name string) bool {
	n, ok := f.at[name]
	if !ok {
		return false
	}
	var v bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&v) != nil {
		f.r.fault(n, "want true or false")
	}
	return v
}

// duration reads a time with a unit.
func (f *fields) duration(name string, otherwise time.Duration) time.Duration {
	n, ok := f.at[name]
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Millisecond || d > 24*time.Hour {
		f.r.fault(n, "want a time with a unit, from 1ms to 24h, such as 30s or 2m")
		return otherwise
	}
	return d
}

var (
	sizePattern = pattern.Lazy(`^([0-9]{1,15}) ?(B|KiB|MiB|GiB|kB|MB|GB)$`)
	sizeUnits   = map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9}
)

// size reads a number of bytes with a unit.
func (f *fields) size(name string, otherwise int64) int64 {
	n, ok := f.at[name]
	if !ok {
		return otherwise
	}
	if m := sizePattern().FindStringSubmatch(n.Value); n.Kind == yaml.ScalarNode && m != nil {
		count, _ := strconv.ParseInt(m[1], 10, 64)
		if unit := sizeUnits[m[2]]; count > 0 && count <= math.MaxInt64/4/unit {
			return count * unit
		}
	}
	f.r.fault(n, "want a size with a unit, such as 64MiB or 4GiB")
	return otherwise
}

// expr reads an expression; the zero expr where it is missing or wrong.
func (f *fields) expr(name string) (expr, bool) {
	n, ok := f.at[name]
	if !ok {
		return expr{}, false
	}
	return f.r.expr(n)
}

func (r *reader) expr(n node) (expr, bool) {
	if n.Kind != yaml.ScalarNode {
		r.want(n, "an expression")
		return expr{}, false
	}
	if r.tagged(n) {
		return expr{}, false
	}
	e, err := parseExpr(n.Value)
	if err != nil {
		r.spaceFault(n, "", err)
		return expr{}, false
	}
	return e, true
}

// syntaxFault turns an error of the YAML package into a fault.
func syntaxFault(file string, data []byte, err error) Fault {
	err = space.SyntaxError(data, err)
	if at, ok := errors.AsType[*space.TextError](err); ok {
		return Fault{File: file, Line: at.Line, Column: at.Column, Text: at.Reason}
	}
	return Fault{File: file, Text: strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: ")}
}
