// Package orderedjson writes JSON objects whose members keep their order, for schemas that people read.
package orderedjson

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object with its members in order.
type Object []Member

// Member is a member of an object.
type Member struct {
	Key   string
	Value any
}

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Text writes an object with an indent, and a line break at the end.
func (o Object) Text() ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
