package gguf

import (
	"fmt"
	"math"
)

// ValueType is the type of a value of the metadata.
type ValueType uint32

// The types of values.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

// valueTypes are their names, and how many bytes a value has, 0 where that varies.
var valueTypes = [...]struct {
	name string
	size uint64
}{
	{"uint8", 1}, {"int8", 1}, {"uint16", 2}, {"int16", 2}, {"uint32", 4}, {"int32", 4}, {"float32", 4}, {"bool", 1},
	{"string", 0}, {"array", 0}, {"uint64", 8}, {"int64", 8}, {"float64", 8},
}

func (t ValueType) String() string {
	if int(t) < len(valueTypes) {
		return valueTypes[t].name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Value is a value of the metadata.
type Value struct {
	Key  string
	Type ValueType
	At   int64 // where its key begins in the file, in bytes
	// Scalar is a number, a bool or a string, of Go's type of the same name. It is nil for arrays, whose elements are checked but
	// not kept.
	Scalar any
	Elem   ValueType // of an array: the type of its elements
	Len    uint64    // of an array
}

// deepest is how many arrays may lie in one another.
const deepest = 4

// value reads one value.
func (r *reader) value() (v Value, err error) {
	v.At = r.at
	if v.Key, err = r.text("a key"); err != nil {
		return v, err
	}
	what := fmt.Sprintf("the value of %s", quote(v.Key))
	if v.Type, err = r.valueType(what); err != nil {
		return v, err
	}
	switch v.Type {
	case String:
		v.Scalar, err = r.text(what)
	case Array:
		v.Elem, v.Len, err = r.array(what, 1)
	default:
		v.Scalar, err = r.scalar(v.Type, what)
	}
	return v, err
}

// valueType reads the type of something.
func (r *reader) valueType(what string) (ValueType, error) {
	at := r.at
	n, err := r.u32("the type of " + what)
	if err == nil && n >= uint32(len(valueTypes)) {
		err = r.fail(at, "%s is of type %d: want 0 to %d", what, n, len(valueTypes)-1)
	}
	return ValueType(n), err
}

// scalar reads a value of a fixed size.
func (r *reader) scalar(t ValueType, what string) (any, error) {
	at := r.at
	n, err := r.number(int(valueTypes[t].size), what)
	if err != nil {
		return nil, err
	}
	switch t {
	case Uint8:
		return uint8(n), nil
	case Int8:
		return int8(n), nil
	case Uint16:
		return uint16(n), nil
	case Int16:
		return int16(n), nil
	case Uint32:
		return uint32(n), nil
	case Int32:
		return int32(n), nil
	case Float32:
		return math.Float32frombits(uint32(n)), nil
	case Bool:
		if n > 1 {
			return nil, r.fail(at, "%s is the bool %d: want 0 or 1", what, n)
		}
		return n == 1, nil
	case Int64:
		return int64(n), nil
	case Float64:
		return math.Float64frombits(n), nil
	}
	return n, nil
}

// array checks an array and passes it. It lies in depth arrays, itself included.
func (r *reader) array(what string, depth int) (elem ValueType, n uint64, err error) {
	at := r.at
	if elem, err = r.valueType("an element of " + what); err != nil {
		return elem, n, err
	}
	if n, err = r.u64("the length of " + what); err != nil {
		return elem, n, err
	}
	one, elements := "an element of "+what, fmt.Sprintf("the %d elements of %s", n, what)
	switch elem {
	case Array:
		if depth == deepest {
			return elem, n, r.fail(at, "%s has arrays in arrays, deeper than %d", what, deepest)
		}
		if err := r.has(n, 12, elements); err != nil {
			return elem, n, err
		}
		for range n {
			if _, _, err := r.array(what, depth+1); err != nil {
				return elem, n, err
			}
		}
	case String:
		if err := r.has(n, 8, elements); err != nil {
			return elem, n, err
		}
		for range n {
			length, err := r.u64(one)
			if err == nil {
				err = r.skip(length, 1, one)
			}
			if err != nil {
				return elem, n, err
			}
		}
	case Bool:
		if err := r.has(n, 1, elements); err != nil {
			return elem, n, err
		}
		for range n {
			if _, err := r.scalar(Bool, one); err != nil {
				return elem, n, err
			}
		}
	default:
		err = r.skip(n, valueTypes[elem].size, elements)
	}
	return elem, n, err
}
