package space

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a Value holds.
type kind uint8

const (
	kindNone kind = iota
	kindInt
	kindFloat
	kindString
	kindBool
	// kindBad marks a Go value that no parameter can take; its text is the name of the Go type. So WithDefault needs no error
	// result and can be chained: New reports the error.
	kindBad
)

var kindNames = [...]string{"none", "int", "float", "string", "bool", "unsupported"}

func (k kind) String() string { return kindNames[k] }

// Value is one value of a parameter: an int64, float64, string or bool. Values are comparable with
// ==; the zero Value holds nothing.
type Value struct {
	kind kind
	bits uint64
	text string
}

// IntValue returns an integer value.
func IntValue(v int64) Value { return Value{kind: kindInt, bits: uint64(v)} }

// FloatValue returns a floating-point value. Negative zero becomes zero, so that equal numbers are
// equal values; New refuses NaN and infinities.
func FloatValue(v float64) Value {
	if v == 0 {
		v = 0
	}
	return Value{kind: kindFloat, bits: math.Float64bits(v)}
}

// StringValue returns a string value. New refuses strings that are not valid UTF-8 or hold
// unprintable characters.
func StringValue(v string) Value { return Value{kind: kindString, text: v} }

// BoolValue returns a boolean value.
func BoolValue(v bool) Value {
	if v {
		return Value{kind: kindBool, bits: 1}
	}
	return Value{kind: kindBool}
}

// ValueOf converts a Go number, string, bool or Value. The error names the Go type of anything else,
// and an unsigned integer that does not fit an int64.
func ValueOf(v any) (Value, error) {
	switch v := v.(type) {
	case Value:
		if v.kind == kindNone || v.kind == kindBad {
			return Value{}, fmt.Errorf("the zero Value holds nothing")
		}
		return v, nil
	case json.Number:
		return parseNumber(v.String())
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return IntValue(r.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			return Value{}, fmt.Errorf("%d does not fit a 64-bit signed integer", r.Uint())
		}
		return IntValue(int64(r.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return FloatValue(r.Float()), nil
	case reflect.String:
		return StringValue(r.String()), nil
	case reflect.Bool:
		return BoolValue(r.Bool()), nil
	}
	return Value{}, fmt.Errorf("a value cannot be a %T", v)
}

// parseNumber reads an integer, or a float if the text has a point or an exponent.
func parseNumber(text string) (Value, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return IntValue(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !Finite(f) {
		return Value{}, fmt.Errorf("%q is not a finite number", text)
	}
	return FloatValue(f), nil
}

// Any returns the value as an int64, float64, string or bool, and nil for the zero Value.
func (v Value) Any() any {
	switch v.kind {
	case kindInt:
		return v.int()
	case kindFloat:
		return v.float()
	case kindString:
		return v.text
	case kindBool:
		return v.bool()
	}
	return nil
}

func (v Value) int() int64     { return int64(v.bits) }
func (v Value) float() float64 { return math.Float64frombits(v.bits) }
func (v Value) bool() bool     { return v.bits != 0 }

// String returns the canonical text of v, as in keys. Floats always have a point or an exponent. A string is quoted only if it is
// empty or contains a space, a quote, a backslash, or '='.
func (v Value) String() string { return string(v.appendText(nil)) }

func (v Value) appendText(b []byte) []byte {
	switch v.kind {
	case kindInt:
		return strconv.AppendInt(b, v.int(), 10)
	case kindFloat:
		return append(b, formatFloat(v.float())...)
	case kindBool:
		return strconv.AppendBool(b, v.bool())
	case kindString:
		if v.text == "" || strings.ContainsFunc(v.text, needsQuote) {
			return strconv.AppendQuote(b, v.text)
		}
		return append(b, v.text...)
	case kindBad:
		return append(append(b, "unsupported "...), v.text...)
	}
	return append(b, "none"...)
}

func needsQuote(r rune) bool {
	return r == '"' || r == '\'' || r == '\\' || r == '=' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// formatFloat writes the shortest text that reads back as f, and as a float rather than an integer.
func formatFloat(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	return text
}

// MarshalJSON writes v as a JSON number, string or boolean.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case kindInt, kindFloat, kindBool:
		return v.appendText(nil), nil
	case kindString:
		return json.Marshal(v.text)
	}
	return []byte("null"), nil
}

// validate says why no domain can contain v.
func (v Value) validate() error {
	switch v.kind {
	case kindNone:
		return fmt.Errorf("a value is missing")
	case kindBad:
		return fmt.Errorf("a value cannot be a %s", v.text)
	case kindFloat:
		if !Finite(v.float()) {
			return fmt.Errorf("%v is not a finite number", v.float())
		}
	case kindString:
		if len(v.text) > maxTextBytes {
			return fmt.Errorf("a value is longer than %d bytes", maxTextBytes)
		}
		if !utf8.ValidString(v.text) || strings.ContainsFunc(v.text, func(r rune) bool {
			return r == utf8.RuneError || !unicode.IsPrint(r)
		}) {
			return fmt.Errorf("value %q has characters that cannot be printed", v.text)
		}
	}
	return nil
}

// Number returns v as a float64 where it is an integer or a float.
func (v Value) Number() (x float64, ok bool) {
	switch v.kind {
	case kindInt:
		return float64(v.int()), true
	case kindFloat:
		return v.float(), true
	}
	return 0, false
}
