package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// ExactNames reports a field that an object of a JSON text has twice, and one whose name differs from that of a field of v in the
// case of letters. Package encoding/json takes the last of all these for the field, and other readers take another one, so that
// they would see other results in the same file. The text must be valid, with no other names than those of v in any case.
func ExactNames(data []byte, v any) error {
	n := names{json.NewDecoder(bytes.NewReader(data))}
	n.decoder.UseNumber()
	return n.value(reflect.TypeOf(v))
}

// names goes through the tokens of a JSON text.
type names struct{ decoder *json.Decoder }

// nameError is a fault in the name of the field at a path.
type nameError struct{ path, fault string }

func (e *nameError) Error() string { return "field " + e.path + e.fault }

// within puts a field, or an element of a list, before the path of an error.
func within(at string, err error) error {
	if e, ok := errors.AsType[*nameError](err); ok && strings.HasPrefix(e.path, "[") {
		e.path = at + e.path
	} else if ok {
		e.path = at + "." + e.path
	}
	return err
}

// value reads a value that is decoded into a type; nil is a type that is not known.
func (n names) value(t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := n.decoder.Token()
	switch {
	case err != nil:
		return explainJSON(nil, err)
	case token == json.Delim('{'):
		return n.object(t)
	case token == json.Delim('['):
		return n.list(t)
	}
	return nil
}

// object reads the fields of an object, and its end.
func (n names) object(t reflect.Type) error {
	seen := map[string]struct{}{}
	for n.decoder.More() {
		token, err := n.decoder.Token()
		if err != nil {
			return explainJSON(nil, err)
		}
		name, _ := token.(string)
		field, of := fieldOf(t, name)
		if field != name {
			return &nameError{name, fmt.Sprintf(": its name is written %q", field)}
		}
		if _, twice := seen[name]; twice {
			return &nameError{name, " is there twice"}
		}
		seen[name] = struct{}{}
		if err := n.value(of); err != nil {
			return within(name, err)
		}
	}
	_, err := n.decoder.Token()
	return err
}

// list reads the elements of a list, and its end.
func (n names) list(t reflect.Type) error {
	var of reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		of = t.Elem()
	}
	for i := 0; n.decoder.More(); i++ {
		if err := n.value(of); err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
	}
	_, err := n.decoder.Token()
	return err
}

// fieldOf returns the name and the type of the field of t that encoding/json decodes a name into. The names of what is no struct
// are its own.
func fieldOf(t reflect.Type, name string) (string, reflect.Type) {
	switch {
	case t == nil:
		return name, nil
	case t.Kind() == reflect.Map:
		return name, t.Elem()
	case t.Kind() != reflect.Struct:
		return name, nil
	}
	fields := fieldsOf(t)
	if of, ok := fields[name]; ok {
		return name, of
	}
	for written, of := range fields {
		if strings.EqualFold(written, name) {
			return written, of
		}
	}
	return name, nil
}

// structFields are the fields of each struct that was decoded into: a map from their names in JSON to their types, by the type of
// the struct.
var structFields sync.Map

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := structFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && (!f.Anonymous || tag != "") {
			fields[cmp.Or(tag, f.Name)] = f.Type
		}
	}
	structFields.Store(t, fields)
	return fields
}
