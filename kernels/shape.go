package kernels

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tune/internal/plain"
	"tune/space"
)

// Field is one field of a kernel's shape: a whole number in a range, one of several words, or a text, such as the name of a file.
type Field struct {
	Name     string
	Doc      string
	Default  string
	Min, Max int      // inclusive range of a number
	Options  []string // the words allowed; where it is empty the field is a number or a text
	Text     string   // what a text says, such as "random, or FILE:NAME"; "" for numbers and words
}

// textLimit bounds a text, in bytes.
const textLimit = 4096

func (f Field) check(value string) error {
	if f.Text != "" {
		if value == "" || len(value) > textLimit || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("shape: %s=%s: want %s, in at most %d printable bytes without a comma", f.Name, plain.Line(value), f.Text, textLimit)
		}
		return nil
	}
	if len(f.Options) > 0 {
		if !slices.Contains(f.Options, value) {
			return fmt.Errorf("shape: %s=%s: want one of %s%s", f.Name, value, strings.Join(f.Options, ", "), space.DidYouMean(value, f.Options))
		}
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("shape: %s=%s: want a whole number from %d to %d", f.Name, value, f.Min, f.Max)
	}
	if n < f.Min || n > f.Max {
		return fmt.Errorf("shape: %s=%d is out of range: want %d to %d", f.Name, n, f.Min, f.Max)
	}
	return nil
}

// Shape is the shape of one problem: a value for every field. The zero value has no field.
type Shape struct {
	fields []Field
	values []string
}

// ParseShape reads "height=10,rounds=16"; fields that are not named take their defaults. Errors name the wrong field and the
// nearest right one.
func ParseShape(fields []Field, text string) (Shape, error) {
	s := Shape{fields: fields, values: make([]string, len(fields))}
	set := make([]bool, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		s.values[i] = f.Default
		names[i] = f.Name
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			example := ""
			if len(fields) > 0 {
				example = fmt.Sprintf(", as in %s=%s", fields[0].Name, fields[0].Default)
			}
			return Shape{}, fmt.Errorf("shape: %q is not of the form name=value%s", part, example)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		i := slices.Index(names, name)
		if len(fields) == 0 {
			return Shape{}, fmt.Errorf("shape: the kernel has none: leave out %q", part)
		}
		if i < 0 {
			return Shape{}, fmt.Errorf("shape: unknown field %q: want %s%s", name, strings.Join(names, ", "), space.DidYouMean(name, names))
		}
		if set[i] {
			return Shape{}, fmt.Errorf("shape: %s is given twice", name)
		}
		if next := uncut(value, names); next != "" {
			return Shape{}, fmt.Errorf("shape: %q: write a comma before %s, as in name=value,name=value", part, next)
		}
		if err := fields[i].check(value); err != nil {
			return Shape{}, err
		}
		if len(fields[i].Options) == 0 && fields[i].Text == "" {
			n, _ := strconv.Atoi(value)
			value = strconv.Itoa(n) // one spelling: "007" and "7" are the same shape
		}
		set[i], s.values[i] = true, value
	}
	return s, nil
}

// uncut returns the name of a field that stands in the value of another one, behind a blank or a semicolon, because there is no comma
// before it; "" where none does.
func uncut(value string, names []string) string {
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
	for _, word := range words[min(len(words), 1):] {
		if name, _, _ := strings.Cut(word, "="); slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// ShapeError says why a kernel has no problem of a shape whose fields are all in range.
type ShapeError struct{ Reason string }

func (e *ShapeError) Error() string { return "shape: " + e.Reason }

// BadShape returns a ShapeError.
func BadShape(format string, args ...any) error { return &ShapeError{fmt.Sprintf(format, args...)} }

// Int returns a numeric field. It panics where the shape has no such field: that is a bug of the kernel.
func (s Shape) Int(name string) int {
	n, err := strconv.Atoi(s.Text(name))
	if err != nil {
		panic(fmt.Sprintf("kernels: shape field %s is not a number", name))
	}
	return n
}

// Text returns a field as text.
func (s Shape) Text(name string) string {
	for i, f := range s.fields {
		if f.Name == name {
			return s.values[i]
		}
	}
	panic(fmt.Sprintf("kernels: shape has no field %s", name))
}

// String returns the canonical text, which ParseShape reads back: every field, in order.
func (s Shape) String() string {
	parts := make([]string, len(s.fields))
	for i, f := range s.fields {
		parts[i] = f.Name + "=" + s.values[i]
	}
	return strings.Join(parts, ",")
}

// of reports a shape that was made for another kernel.
func (s Shape) of(k Info) error {
	if slices.EqualFunc(s.fields, k.Shape, func(a, b Field) bool { return a.Name == b.Name }) {
		return nil
	}
	list := func(fields []Field) string {
		var names []string
		for _, f := range fields {
			names = append(names, f.Name)
		}
		return cmp.Or(strings.Join(names, ", "), "no field")
	}
	return BadShape("kernel %s has %s, and this shape has %s: make one with ParseShape from the Info of this kernel", k.Name, list(k.Shape), list(s.fields))
}

// MarshalJSON writes the canonical text.
func (s Shape) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
