package space

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Point is one value for every active parameter of a space. It is immutable and cheap to copy; only a
// Space makes one, so that it is always valid there. The zero Point belongs to no space.
type Point struct {
	space *Space
	// ords has the ordinal of each parameter, -1 where it is inactive. It is never changed.
	ords []int
}

// IsZero reports whether p is the zero Point.
func (p Point) IsZero() bool { return p.space == nil }

// Space returns the space that p belongs to, nil for the zero Point.
func (p Point) Space() *Space { return p.space }

// Key returns the canonical text of the active parameters in their order, such as
// "lanes=3 order=diagonal packed=true". It is unique in the space; Space.Parse reads it back.
func (p Point) Key() string {
	if p.space == nil {
		return ""
	}
	return string(p.AppendKey(nil))
}

// AppendKey appends Key to b.
func (p Point) AppendKey(b []byte) []byte {
	if p.space == nil {
		return b
	}
	return p.space.appendKey(b, p.ords)
}

// HasKey reports whether a text is Key, without making that.
func (p Point) HasKey(key string) bool {
	if p.space == nil {
		return key == ""
	}
	var memory [64]byte
	begun := false
	for i, o := range p.ords {
		if o < 0 {
			continue
		}
		if begun && (key == "" || key[0] != ' ') {
			return false
		} else if begun {
			key = key[1:]
		}
		begun = true
		n := 0
		if pairs := p.space.written[i]; pairs != nil {
			if !strings.HasPrefix(key, pairs[o]) {
				return false
			}
			n = len(pairs[o])
		} else {
			pair := p.space.params[i].appendPair(memory[:0], o)
			if n = len(pair); len(key) < n || key[:n] != string(pair) {
				return false
			}
		}
		key = key[n:]
	}
	return key == ""
}

// String is Key.
func (p Point) String() string { return p.Key() }

// Equal reports whether p and q have the same values in spaces with the same definition.
func (p Point) Equal(q Point) bool {
	if p.space == nil || q.space == nil {
		return p.space == q.space
	}
	return p.space.same(q.space) && slices.Equal(p.ords, q.ords)
}

// Ordinals returns a copy of the ordinals in parameter order, with -1 for an inactive parameter.
func (p Point) Ordinals() []int { return slices.Clone(p.ords) }

// Ordinal returns the ordinal of parameter i, -1 where it is inactive.
func (p Point) Ordinal(i int) int { return p.ords[i] }

// Has reports whether the space has a parameter of that name, active or not.
func (p Point) Has(name string) bool {
	if p.space == nil {
		return false
	}
	_, ok := p.space.index[name]
	return ok
}

// Active reports whether the space has an active parameter of that name at p.
func (p Point) Active(name string) bool {
	_, ok := p.Value(name)
	return ok
}

// Value returns the value of a parameter; ok is false where it is inactive or the space has none of
// that name.
func (p Point) Value(name string) (v Value, ok bool) {
	if p.space == nil {
		return Value{}, false
	}
	i, ok := p.space.index[name]
	if !ok || p.ords[i] < 0 {
		return Value{}, false
	}
	return p.space.params[i].at(p.ords[i]), true
}

// Int returns the value of an integer parameter, 0 where it is inactive. It panics where the space has
// no such parameter or it holds no integers: that is a mistake in the program.
func (p Point) Int(name string) int {
	v, _ := p.get(name, "Int", kindInt, kindInt)
	return int(v.int())
}

// Str returns the value of a string parameter, "" where it is inactive. It panics as Int does.
func (p Point) Str(name string) string {
	v, _ := p.get(name, "Str", kindString, kindString)
	return v.text
}

// Bool returns the value of a truth parameter, false where it is inactive. It panics as Int does.
func (p Point) Bool(name string) bool {
	v, _ := p.get(name, "Bool", kindBool, kindBool)
	return v.bool()
}

// Float returns the value of a numeric parameter, 0 where it is inactive; integers are converted. It
// panics as Int does.
func (p Point) Float(name string) float64 {
	v, kind := p.get(name, "Float", kindFloat, kindInt)
	if kind == kindInt {
		return float64(v.int())
	}
	return v.float()
}

// getters are the methods that return values of each kind.
var getters = map[kind]string{kindInt: "Int", kindFloat: "Float", kindString: "Str", kindBool: "Bool"}

// misused says what is wrong with a call of a getter, which has called get, and in which line it is: users see the place of the panic else.
func misused(getter, name, format string, args ...any) string {
	where := ""
	if _, file, line, ok := runtime.Caller(3); ok {
		where = fmt.Sprintf(" in %s:%d", filepath.Base(file), line)
	}
	return fmt.Sprintf("space: %s(%q)%s", getter, name, where) + fmt.Sprintf(format, args...)
}

// get returns the value of a parameter of one of two kinds, and its kind. An inactive one has the zero
// Value, whose bits and text are those of 0, "" and false in every kind.
func (p Point) get(name, getter string, a, b kind) (Value, kind) {
	if p.space == nil {
		panic(misused(getter, name, " of the zero Point"))
	}
	i, ok := p.space.index[name]
	if !ok {
		names := p.space.names()
		panic(misused(getter, name, ": space %q has no such parameter: want one of %s%s", p.space.name, strings.Join(names, ", "), DidYouMean(name, names)))
	}
	parameter := &p.space.params[i]
	k := parameter.kind()
	if k != a && k != b {
		panic(misused(getter, name, ": the parameter holds %s values: call %s", k, getters[k]))
	}
	if p.ords[i] < 0 {
		return Value{}, k
	}
	return parameter.at(p.ords[i]), k
}

// MarshalJSON writes an object of the active parameters in their order, null for the zero Point.
// Space.UnmarshalPoint reads it back.
func (p Point) MarshalJSON() ([]byte, error) {
	if p.space == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	separator := byte('{')
	for i, o := range p.ords {
		if o < 0 {
			continue
		}
		value, err := p.space.params[i].at(o).MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		fmt.Fprintf(&b, "%q:", p.space.params[i].Name)
		b.Write(value)
		separator = ','
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
