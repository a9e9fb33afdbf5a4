package space

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Written is the values of a point as a line of a journal has them. It takes less to read than a key.
type Written struct {
	// Names are those of the parameters that have a value, in the order of a key. Points that have the same may share the slice.
	Names []string
	// Text is a list in JSON of the values, without its brackets.
	Text []byte
}

// Key returns the key of the point; "" where the text is no list of as many values.
func (w *Written) Key() string {
	d := json.NewDecoder(bytes.NewReader(append(append([]byte{'['}, w.Text...), ']')))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil || len(list) != len(w.Names) {
		return ""
	}
	var key []byte
	for i, one := range list {
		if i > 0 {
			key = append(key, ' ')
		}
		key = append(append(key, w.Names[i]...), '=')
		switch one := one.(type) {
		case json.Number:
			key = append(key, one...)
		case bool:
			key = BoolValue(one).appendText(key)
		case string:
			key = StringValue(one).appendText(key)
		default:
			return ""
		}
	}
	return string(key)
}

// Matcher compares points of one space with written ones. The zero value is ready for use.
type Matcher struct {
	at map[*string][]int // the parameters of names, -1 for one that the space does not have
}

// Matches reports whether a point is the written one: whether its key is that of the other.
func (m *Matcher) Matches(p Point, w *Written) bool {
	return m.plainly(p, w) || p.HasKey(w.Key())
}

// plainly is Matches where each value is written in the usual way; otherwise it returns false.
func (m *Matcher) plainly(p Point, w *Written) bool {
	if p.space == nil || len(w.Names) == 0 {
		return false
	}
	at, text, active := m.params(p.space, w.Names), w.Text, 0
	for i, o := range p.ords {
		if o < 0 {
			continue
		}
		if active == len(at) || at[active] != i {
			return false
		}
		if active > 0 {
			if len(text) == 0 || text[0] != ',' {
				return false
			}
			text = text[1:]
		}
		active++
		n := p.space.lengthIn(text, i, o)
		if n < 0 {
			return false
		}
		text = text[n:]
	}
	return active == len(at) && len(text) == 0
}

// params returns the parameters that have these names.
func (m *Matcher) params(s *Space, names []string) []int {
	at, ok := m.at[&names[0]]
	if ok {
		return at
	}
	for _, name := range names {
		i, ok := s.index[name]
		if !ok {
			i = -1
		}
		at = append(at, i)
	}
	if m.at == nil {
		m.at = map[*string][]int{}
	}
	m.at[&names[0]] = at
	return at
}

// lengthIn returns the length of the value of a parameter in JSON, if a text begins with it and has no escapes there; else -1.
func (s *Space) lengthIn(text []byte, i, ord int) int {
	p := &s.params[i]
	if p.kind() == kindString {
		value := p.at(ord).text
		if strings.ContainsAny(value, "\"\\") { // what ends a text has to be told from what is escaped in it
			return -1
		}
		if n := len(value) + 2; len(text) >= n && text[0] == '"' && string(text[1:n-1]) == value && text[n-1] == '"' {
			return n
		}
		return -1
	}
	var memory [64]byte
	value := ""
	if pairs := s.written[i]; pairs != nil {
		value = pairs[ord][len(p.Name)+1:]
	} else {
		value = string(p.at(ord).appendText(memory[:0]))
	}
	if len(text) < len(value) || string(text[:len(value)]) != value {
		return -1
	}
	return len(value)
}
