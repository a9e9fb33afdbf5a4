package user

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tune/internal/pattern"
	"tune/space"
)

// template is a text with placeholders for values, {{name}}, or for what is computed from them, {{n // 2}}.
type template struct {
	src   string
	parts []part
}

// part is a stretch of text or a placeholder.
type part struct {
	text   string
	name   string // of a placeholder that is a name alone
	expr   expr   // of any other placeholder
	offset int    // of the placeholder in the text, in bytes
	inside int    // the offset of the expression in the text
}

// place reports whether a part is a placeholder.
func (p part) place() bool { return p.name != "" || !p.expr.IsZero() }

// inner returns what stands between the braces.
func (p part) inner() string {
	if p.name != "" {
		return p.name
	}
	return p.expr.String()
}

// value computes a placeholder. The error is space.ErrInactive where it needs an inactive parameter.
func (p part) value(v values) (space.Value, error) {
	if p.name == "" {
		return p.expr.Value(v)
	}
	if value, ok := v[p.name]; ok {
		return value, nil
	}
	return space.Value{}, fmt.Errorf("{{%s}} names a parameter %w", p.name, space.ErrInactive)
}

var (
	placePattern = pattern.Lazy(`\{\{([^{}\n]*)\}\}`)
	namePattern  = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// parseTemplate finds the placeholders of a text. What stands between double braces and is neither a name nor an expression with a
// name in it is no placeholder: {{0}} and {{1,2},{3,4}} are C.
func parseTemplate(src string) template {
	return cutTemplate(src, func(expr) bool { return true })
}

// sourceTemplate is parseTemplate for a source of C, in which an expression over the source's own variables is no placeholder.
func sourceTemplate(src string, known []string) template {
	return cutTemplate(src, func(e expr) bool {
		return slices.ContainsFunc(e.names(), func(m mention) bool { return slices.Contains(known, m.name) })
	})
}

func cutTemplate(src string, takes func(expr) bool) template {
	t := template{src: src}
	at := 0
	for _, m := range placePattern().FindAllStringSubmatchIndex(src, -1) {
		p := part{offset: m[0], inside: m[2]}
		inner := src[m[2]:m[3]]
		if name := strings.Trim(inner, " \t"); namePattern().MatchString(name) {
			p.name = name
		} else if e, err := parseExpr(inner); err == nil && len(e.names()) > 0 && takes(e) {
			p.expr = e
		} else {
			continue
		}
		if m[0] > at {
			t.parts = append(t.parts, part{text: src[at:m[0]]})
		}
		t.parts = append(t.parts, p)
		at = m[1]
	}
	if at < len(src) || len(t.parts) == 0 {
		t.parts = append(t.parts, part{text: src[at:]})
	}
	return t
}

// unread returns the texts between double braces that name one of the known names and yet are no placeholders, each with the reason.
// Lists are left out: they are C.
func (t template) unread(known []string) (out [][2]string) {
	for _, m := range placePattern().FindAllStringSubmatch(t.src, -1) {
		inner := m[1]
		_, err := parseExpr(inner)
		bad, ok := errors.AsType[*space.ExprError](err)
		if !ok || strings.ContainsAny(inner, ",;$") {
			continue
		}
		if slices.ContainsFunc(wordPattern().FindAllString(inner, -1), func(word string) bool { return slices.Contains(known, word) }) {
			out = append(out, [2]string{m[0], bad.Reason})
		}
	}
	return out
}

// openPattern matches the beginning of a placeholder.
var openPattern = pattern.Lazy(`\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)`)

// unclosed returns the placeholders of known names that have no }} in their line, each as far as its name.
func (t template) unclosed(known []string) (out []mention) {
	for _, m := range openPattern().FindAllStringSubmatchIndex(t.src, -1) {
		rest := t.src[m[1]:]
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			rest = rest[:end]
		}
		rest, _, _ = strings.Cut(rest, "{{")
		if name := t.src[m[2]:m[3]]; slices.Contains(known, name) && !strings.Contains(rest, "}}") {
			out = append(out, mention{name, m[0]})
		}
	}
	return out
}

// names returns the names in the placeholders, in order.
func (t template) names() []mention {
	var out []mention
	for _, p := range t.parts {
		if p.name != "" {
			out = append(out, mention{p.name, p.offset})
		}
		for _, m := range p.expr.names() {
			out = append(out, mention{m.name, p.inside + m.offset})
		}
	}
	return out
}

// expand inserts the values. whole is false where a placeholder had none.
func (t template) expand(v values) (text string, whole bool) {
	var b strings.Builder
	whole = true
	for _, p := range t.parts {
		if !p.place() {
			b.WriteString(p.text)
			continue
		}
		if value, err := p.value(v); err != nil {
			whole = false
		} else {
			b.WriteString(valueText(value))
		}
	}
	return b.String(), whole
}

// expandAll expands each text and leaves out those that name something inactive.
func expandAll(ts []template, v values) []string {
	var out []string
	for _, t := range ts {
		if text, whole := t.expand(v); whole {
			out = append(out, text)
		}
	}
	return out
}

// computable reports a placeholder whose expression has no value, for another reason than an inactive parameter.
func computable(ts []template, v values) error {
	for _, t := range ts {
		for _, p := range t.parts {
			if p.expr.IsZero() {
				continue
			}
			if _, err := p.value(v); err != nil && !errors.Is(err, space.ErrInactive) {
				return fmt.Errorf("{{%s}}: %w", p.inner(), err)
			}
		}
	}
	return nil
}

// valueText is a value as it is inserted into a text.
func valueText(v space.Value) string {
	switch x := v.Any().(type) {
	case string:
		return x
	case bool:
		if x {
			return "1"
		}
		return "0"
	}
	return v.String()
}

// pointValues returns the active parameters of a point and the constants of a shape.
func pointValues(p space.Point, constants map[string]int) values {
	out := values{}
	for name, n := range constants {
		out[name] = space.IntValue(int64(n))
	}
	if p.IsZero() {
		return out
	}
	for _, parameter := range p.Space().Parameters() {
		if v, ok := p.Value(parameter.Name); ok {
			out[parameter.Name] = v
		}
	}
	return out
}

// offsetOf returns the offset in bytes of a column, in characters from 1, of a text of one line.
func offsetOf(text string, column int) int {
	runes := []rune(text)
	return len(string(runes[:min(max(column-1, 0), len(runes))]))
}

// position returns the line and column, from 1, of an offset in a text.
func position(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
