package user

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"tune/space"
)

// template is a text with placeholders for values, {{name}}.
type template struct {
	src   string
	parts []part
}

// part is a stretch of text or, where name is set, a placeholder.
type part struct {
	text   string
	name   string
	offset int // of the placeholder in the text, in bytes
}

// placePattern requires a name inside the braces, because {{1,2},{3,4}} is C.
var placePattern = regexp.MustCompile(`\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}`)

func parseTemplate(src string) template {
	t := template{src: src}
	at := 0
	for _, m := range placePattern.FindAllStringSubmatchIndex(src, -1) {
		if m[0] > at {
			t.parts = append(t.parts, part{text: src[at:m[0]]})
		}
		t.parts = append(t.parts, part{name: src[m[2]:m[3]], offset: m[0]})
		at = m[1]
	}
	if at < len(src) || len(t.parts) == 0 {
		t.parts = append(t.parts, part{text: src[at:]})
	}
	return t
}

// names returns the names of the placeholders, in order.
func (t template) names() []mention {
	var out []mention
	for _, p := range t.parts {
		if p.name != "" {
			out = append(out, mention{p.name, p.offset})
		}
	}
	return out
}

// texts are the values of placeholders; an inactive parameter is missing.
type texts map[string]string

// expand inserts the values. whole is false where a placeholder had none.
func (t template) expand(values texts) (text string, whole bool) {
	var b strings.Builder
	whole = true
	for _, p := range t.parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := values[p.name]
		whole = whole && ok
		b.WriteString(v)
	}
	return b.String(), whole
}

// expandAll expands each text and leaves out those that name something inactive.
func expandAll(ts []template, values texts) []string {
	var out []string
	for _, t := range ts {
		if text, whole := t.expand(values); whole {
			out = append(out, text)
		}
	}
	return out
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

// pointTexts returns the active parameters of a point and the constants of a shape as texts.
func pointTexts(p space.Point, constants map[string]int) texts {
	out := texts{}
	for name, n := range constants {
		out[name] = fmt.Sprint(n)
	}
	if p.IsZero() {
		return out
	}
	for _, parameter := range p.Space().Parameters() {
		if v, ok := p.Value(parameter.Name); ok {
			out[parameter.Name] = valueText(v)
		}
	}
	return out
}

// pointValues returns the active numeric parameters of a point and the constants of a shape.
func pointValues(p space.Point, constants map[string]int) values {
	out := values{}
	for name, n := range constants {
		out[name] = float64(n)
	}
	if p.IsZero() {
		return out
	}
	for _, parameter := range p.Space().Parameters() {
		v, ok := p.Value(parameter.Name)
		if !ok {
			continue
		}
		switch x := v.Any().(type) {
		case int64:
			out[parameter.Name] = float64(x)
		case float64:
			out[parameter.Name] = x
		case bool:
			out[parameter.Name] = 0
			if x {
				out[parameter.Name] = 1
			}
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
