package t1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tune/internal/plain"
	"tune/space"
)

// value is a JSON value with its position.
type value struct {
	kind     kind
	line     int
	text     string // a string's contents, or a number as it is written
	truth    bool
	elements []*value // of an array
	members  []member // of an object, in order
}

type member struct {
	name  string
	value *value
}

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// get returns the member of that name, nil where there is none.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// any returns a scalar as a Go value.
func (v *value) any() any {
	switch v.kind {
	case kindBool:
		return v.truth
	case kindNumber:
		return json.Number(v.text)
	case kindString:
		return v.text
	}
	return nil
}

// maxDepth bounds how deep values may nest.
const maxDepth = 100

// tree builds the value of a whole document.
type tree struct {
	data    []byte
	decoder *json.Decoder
	// at and line are how far lines have been counted.
	at, line int
}

// parseJSON reads one JSON document. The error names the line.
func parseJSON(data []byte) (*value, error) {
	t := &tree{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	t.decoder.UseNumber()
	v, err := t.value(0)
	if err == nil {
		if rest := bytes.TrimSpace(data[t.decoder.InputOffset():]); len(rest) > 0 {
			t.count()
			err = fmt.Errorf("line %d: something follows the end of the document: %.20q", t.line, rest)
		}
	}
	return v, err
}

// count advances line to the position of the decoder.
func (t *tree) count() {
	end := min(int(t.decoder.InputOffset()), len(t.data))
	t.line += bytes.Count(t.data[t.at:end], []byte("\n"))
	t.at = end
}

func (t *tree) token() (json.Token, error) {
	token, err := t.decoder.Token()
	t.count()
	if err == nil {
		return token, nil
	}
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(t.data[:min(int(at.Offset), len(t.data))], []byte("\n"))
		return nil, fmt.Errorf("line %d: %s", line, plain.NotJSON(t.data, err))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the document ends too early")
		if len(bytes.TrimSpace(t.data)) == 0 {
			return nil, errors.New("the file is empty")
		}
	}
	return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(t.data, []byte("\n")), err)
}

func (t *tree) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: values nest deeper than %d", t.line, maxDepth)
	}
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	v := &value{line: t.line}
	switch token := token.(type) {
	case bool:
		v.kind, v.truth = kindBool, token
	case json.Number:
		v.kind, v.text = kindNumber, token.String()
	case string:
		v.kind, v.text = kindString, token
	case json.Delim:
		if token == '[' {
			v.kind = kindArray
		} else {
			v.kind = kindObject
		}
		for t.decoder.More() {
			var name string
			if v.kind == kindObject {
				key, err := t.token()
				if err != nil {
					return nil, err
				}
				name = key.(string) // The decoder refuses any other key of an object.
				if v.get(name) != nil {
					return nil, fmt.Errorf("line %d: field %q is given twice", t.line, name)
				}
			}
			kid, err := t.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if v.kind == kindObject {
				v.members = append(v.members, member{name, kid})
			} else {
				v.elements = append(v.elements, kid)
			}
		}
		if _, err := t.token(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// rule says what a value must be. The rules cover the parts of JSON Schema that the T1 schema uses.
type rule struct {
	kinds    []kind
	integer  bool
	enum     []string
	elements *rule
	fields   []field
}

// field is a known member of an object; unknown members are allowed.
type field struct {
	name     string
	required bool
	rule     *rule
}

// check says where v breaks the rule.
func (r *rule) check(path string, v *value) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("line %d: %s: %s", v.line, path, fmt.Sprintf(format, args...))
	}
	if len(r.kinds) > 0 && !slices.Contains(r.kinds, v.kind) {
		words := make([]string, len(r.kinds))
		for i, k := range r.kinds {
			words[i] = k.String()
		}
		return fail("this is %s, not %s", v.kind, strings.Join(words, " or "))
	}
	if r.integer && v.kind == kindNumber {
		if f, err := json.Number(v.text).Float64(); err != nil || f != math.Trunc(f) {
			return fail("%s is not an integer", v.text)
		}
	}
	if len(r.enum) > 0 && !slices.Contains(r.enum, v.text) {
		return fail("there is no %q%s; it is one of %s", v.text, space.DidYouMean(v.text, r.enum), strings.Join(r.enum, ", "))
	}
	for i, e := range v.elements {
		if r.elements == nil {
			break
		}
		if err := r.elements.check(fmt.Sprintf("%s[%d]", path, i), e); err != nil {
			return err
		}
	}
	for _, f := range r.fields {
		kid := v.get(f.name)
		inside := strings.TrimPrefix(path+"."+f.name, "file.")
		if kid == nil && f.required {
			names := make([]string, len(v.members))
			for i, m := range v.members {
				names[i] = m.name
			}
			hint := ""
			if near := space.Nearest(f.name, names); near != "" {
				hint = fmt.Sprintf(" (is it %q?)", near)
			}
			return fail("the field %q is missing%s", f.name, hint)
		}
		if kid != nil {
			if err := f.rule.check(inside, kid); err != nil {
				return err
			}
		}
	}
	return nil
}

func is(kinds ...kind) *rule          { return &rule{kinds: kinds} }
func oneOf(words ...string) *rule     { return &rule{kinds: []kind{kindString}, enum: words} }
func arrayOf(r *rule) *rule           { return &rule{kinds: []kind{kindArray}, elements: r} }
func object(fields ...field) *rule    { return &rule{kinds: []kind{kindObject}, fields: fields} }
func need(name string, r *rule) field { return field{name, true, r} }
func may(name string, r *rule) field  { return field{name, false, r} }

// format is what the T1 schema demands.
var format = func() *rule {
	text, number, integer, boolean := is(kindString), is(kindNumber), &rule{kinds: []kind{kindNumber}, integer: true}, is(kindBool)
	size := object(need("X", text), may("Y", text), may("Z", text))
	fill := oneOf("Constant", "Random", "Generator", "Script", "BinaryRaw", "BinaryHDF")
	return object(
		need("ConfigurationSpace", object(
			need("TuningParameters", arrayOf(object(
				need("Name", text), need("Type", oneOf("int", "uint", "float", "bool", "string")), need("Values", text)))),
			may("Conditions", arrayOf(object(need("Parameters", arrayOf(text)), need("Expression", text)))))),
		need("KernelSpecification", object(
			may("Device", object(may("PlatformId", integer), may("DeviceId", integer), may("Name", text))),
			need("Language", oneOf("OpenCL", "CUDA", "Vulkan", "Hypertuner")),
			may("CompilerOptions", arrayOf(text)), may("Profiling", boolean),
			need("KernelName", text), need("KernelFile", text),
			may("GlobalSizeType", oneOf("OpenCL", "CUDA", "Vulkan")),
			may("SharedMemory", integer), may("SimulationInput", text),
			need("GlobalSize", size), need("LocalSize", size),
			may("Arguments", arrayOf(object(
				may("Name", text),
				need("Type", oneOf("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
					"half", "half2", "half4", "half8", "half16", "float", "float2", "float4", "float8", "float16",
					"double", "double2", "double4", "double8", "double16", "custom")),
				may("Size", &rule{kinds: []kind{kindNumber, kindString}, integer: true}), may("TypeSize", integer),
				may("FillType", fill), may("FillValue", number), may("DataSource", text), may("RandomSeed", integer),
				may("AccessType", oneOf("ReadOnly", "WriteOnly", "ReadWrite")),
				need("MemoryType", oneOf("Scalar", "Vector", "Local", "Symbol"))))),
			may("ReferenceArguments", arrayOf(object(
				need("Name", text), need("TargetName", text), need("FillType", fill), may("FillValue", number),
				may("DataSource", text), may("RandomSeed", integer),
				may("ValidationMethod", oneOf("AbsoluteDifference", "SideBySideComparison", "SideBySideRelativeComparison")),
				may("ValidationThreshold", number)))))),
		may("Search", object(need("Name", text), may("Attributes", arrayOf(object(
			need("Name", text), need("Value", is(kindNumber, kindString, kindBool, kindObject, kindArray))))))),
		may("Budget", arrayOf(object(
			need("Type", oneOf("TuningDuration", "ConfigurationCount", "ConfigurationFraction")), need("BudgetValue", number)))),
		may("General", object(
			may("FormatVersion", integer), may("LoggingLevel", oneOf("Off", "Error", "Warning", "Info", "Debug")),
			may("TimeUnit", oneOf("Nanoseconds", "Microseconds", "Milliseconds", "Seconds")),
			may("OutputFile", text), may("OutputFormat", oneOf("JSON", "XML")))),
	)
}()
