package t1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tune/space"
)

// File is a T1 file. It keeps every field of the file that it was read from, known or not.
type File struct {
	// Name is General.BenchmarkName where the file has one, KernelSpecification.KernelName elsewhere.
	Name string
	// Kernel is KernelSpecification.KernelName.
	Kernel string
	// Parameters are the tuning parameters as they are written.
	Parameters []Parameter
	// Conditions are the conditions as they are written.
	Conditions []Condition
	// Document is the search space: the values evaluated, the conditions translated.
	Document space.Document

	raw json.RawMessage
}

// Parameter is an element of ConfigurationSpace.TuningParameters.
type Parameter struct {
	Name string
	// Type is one of int, uint, float, bool and string.
	Type string
	// Values is a Python expression for a list.
	Values string
}

// Condition is an element of ConfigurationSpace.Conditions.
type Condition struct {
	// Expression is in Python.
	Expression string
	// Parameters are those that the file claims the expression reads; the list may be wrong.
	Parameters []string
}

// maxFileBytes bounds the size of a file.
const maxFileBytes = 2 << 20

// Read reads a T1 file. Every error names the line and the field: malformed JSON, a field that is missing or that the format does
// not allow, a value or an expression that is wrong.
func Read(r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("the file has more than %d MiB, the most that is read of a space", maxFileBytes>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("read T1 file: %w", err)
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read T1 file: %w", err)
	}
	return f, nil
}

func parse(data []byte) (*File, error) {
	root, err := parseJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	if err := format.check("file", root); err != nil {
		return nil, err
	}
	f := &File{raw: data, Kernel: root.get("KernelSpecification").get("KernelName").text}
	f.Name = f.Kernel
	if name := root.get("General").get("BenchmarkName"); name != nil && name.kind == kindString && name.text != "" {
		f.Name = name.text
	}
	f.Document.Name = f.Name
	var parameterLines, conditionLines []int
	configuration := root.get("ConfigurationSpace")
	for i, v := range configuration.get("TuningParameters").elements {
		p := Parameter{v.get("Name").text, v.get("Type").text, v.get("Values").text}
		where := fmt.Sprintf("line %d: TuningParameters[%d] %q", v.line, i, p.Name)
		parameter, err := p.space(v.get("Default"))
		if err != nil {
			return nil, fmt.Errorf("%s: Values: %w", where, err)
		}
		f.Parameters = append(f.Parameters, p)
		f.Document.Parameters = append(f.Document.Parameters, parameter)
		parameterLines = append(parameterLines, v.line)
	}
	if conditions := configuration.get("Conditions"); conditions != nil {
		t := newTranslator(f.Document.Parameters)
		for i, v := range conditions.elements {
			c := Condition{Expression: v.get("Expression").text}
			for _, name := range v.get("Parameters").elements {
				c.Parameters = append(c.Parameters, name.text)
			}
			text, err := t.condition(c.Expression)
			if err != nil {
				return nil, fmt.Errorf("line %d: Conditions[%d].Expression: %w", v.get("Expression").line, i, err)
			}
			f.Conditions = append(f.Conditions, c)
			f.Document.Constraints = append(f.Document.Constraints, text)
			conditionLines = append(conditionLines, v.get("Expression").line)
		}
	}
	f.Document = f.Document.WithLines(parameterLines, conditionLines)
	return f, nil
}

// space evaluates the values of p and checks them against its type.
func (p Parameter) space(def *value) (space.Parameter, error) {
	n, err := parseExpr(p.Values)
	if err != nil {
		return space.Parameter{}, err
	}
	e := newEvaluator(p.Values)
	v, err := e.eval(n, nil)
	if err != nil {
		return space.Parameter{}, err
	}
	list, ok := elementsOf(v)
	if _, isText := v.(string); !ok || isText {
		return space.Parameter{}, fmt.Errorf("%s is not a list of values", show(v))
	}
	values := make([]space.Value, len(list))
	for i, element := range list {
		if values[i], ok = p.convert(element); !ok {
			return space.Parameter{}, fmt.Errorf("%s is not of type %s", show(element), p.Type)
		}
	}
	out := domain(p.Name, values)
	if def == nil {
		return out, nil
	}
	if def.kind == kindArray && len(def.elements) == 1 {
		def = def.elements[0]
	}
	if given, err := space.ValueOf(def.any()); err == nil {
		if i, ok := out.Ordinal(given); ok {
			out = out.WithDefault(out.At(i))
		}
	}
	return out, nil
}

// domain is the parameter with the given values. A list that is too long for an enum becomes a range if it is one.
func domain(name string, values []space.Value) space.Parameter {
	const longest = 1 << 16
	if len(values) == 2 && values[0] == space.BoolValue(false) && values[1] == space.BoolValue(true) {
		return space.Bool(name)
	}
	if len(values) <= longest {
		return space.Values(name, values...)
	}
	first, ok := values[0].Any().(int64)
	second, also := values[1].Any().(int64)
	if !ok || !also || second <= first || first < 0 {
		return space.Values(name, values...)
	}
	step := second - first
	for i, v := range values {
		if v != space.IntValue(first+int64(i)*step) {
			return space.Values(name, values...)
		}
	}
	return space.Stepped(name, int(first), int(first)+(len(values)-1)*int(step), int(step))
}

// convert makes a value of p of a Python value.
func (p Parameter) convert(v any) (space.Value, bool) {
	switch v := v.(type) {
	case int64:
		switch {
		case p.Type == "float":
			return space.FloatValue(float64(v)), true
		case p.Type == "bool" && (v == 0 || v == 1):
			return space.BoolValue(v == 1), true
		}
		return space.IntValue(v), p.Type == "int" || p.Type == "uint" && v >= 0
	case float64:
		return space.FloatValue(v), p.Type == "float"
	case bool:
		return space.BoolValue(v), p.Type == "bool"
	case string:
		return space.StringValue(v), p.Type == "string"
	}
	return space.Value{}, false
}

// Space opens the search space of the file.
func (f *File) Space() (*space.Space, error) { return f.Document.Space() }

// Write writes the file as indented JSON. A file that was read keeps all its fields, their order and how its numbers are
// written.
func Write(w io.Writer, f *File) error {
	if f.raw == nil {
		return errors.New("write T1 file: it has no contents; make it with Read or New")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(bytes.TrimPrefix(f.raw, []byte("\ufeff"))), "", "    "); err != nil {
		return fmt.Errorf("write T1 file: %w", err)
	}
	b.WriteByte('\n')
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write T1 file: %w", err)
	}
	return nil
}

// Kernel is what a T1 file says about a kernel beside its space; all but the dimensions is required by the format.
type Kernel struct {
	// Name and File are the function and the source file.
	Name, File string
	// Language is one of OpenCL, CUDA, Vulkan and Hypertuner; Hypertuner where it is empty.
	Language string
}

// New returns the file of a space and its kernel. T1 has no conditional parameters, so that a space with any cannot be written;
// the error names the first. The language of constraints is nearly Python: only "c ? a : b" and the operators && || ! are
// different, and the canonical text does not use these.
func New(s *space.Space, k Kernel) (*File, error) {
	type parameter struct {
		Name    string
		Type    string
		Values  string
		Default any
	}
	type condition struct {
		Parameters []string
		Expression string
	}
	type size struct{ X, Y, Z string }
	var document struct {
		General            struct{ BenchmarkName, OutputFormat string }
		ConfigurationSpace struct {
			TuningParameters []parameter
			Conditions       []condition `json:",omitempty"`
		}
		KernelSpecification struct {
			Language, KernelName, KernelFile string
			GlobalSize, LocalSize            size
		}
	}
	document.General.BenchmarkName, document.General.OutputFormat = s.Name(), "JSON"
	first := s.Default()
	for i, p := range s.Parameters() {
		if p.When != "" {
			return nil, fmt.Errorf("parameter %q is active only where %s: a T1 file cannot say so", p.Name, p.When)
		}
		j := parameter{Name: p.Name, Default: p.At(first.Ordinal(i)).Any()}
		switch p.At(0).Any().(type) {
		case int64:
			j.Type = "int"
		case float64:
			j.Type = "float"
		case bool:
			j.Type = "bool"
		default:
			j.Type = "string"
		}
		j.Values = pythonList(p)
		document.ConfigurationSpace.TuningParameters = append(document.ConfigurationSpace.TuningParameters, j)
	}
	for _, text := range s.Constraints() {
		canonical, reads, err := space.Canonical(text)
		if err != nil {
			return nil, err
		}
		document.ConfigurationSpace.Conditions = append(document.ConfigurationSpace.Conditions, condition{reads, python(canonical)})
	}
	spec := &document.KernelSpecification
	spec.Language, spec.KernelName, spec.KernelFile = k.Language, k.Name, k.File
	if spec.Language == "" {
		spec.Language = "Hypertuner"
	}
	spec.GlobalSize, spec.LocalSize = size{"1", "1", "1"}, size{"1", "1", "1"}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, err
	}
	return parse(b.Bytes())
}

// python turns the words for truths into Python's.
func python(canonical string) string {
	tokens, err := lex(canonical)
	if err != nil {
		return canonical
	}
	var b strings.Builder
	at := 0
	for _, t := range tokens {
		if t.kind == tokenName && (t.text == "true" || t.text == "false") {
			b.WriteString(canonical[at:t.at] + strings.ToUpper(t.text[:1]) + t.text[1:])
			at = t.at + len(t.text)
		}
	}
	return b.String() + canonical[at:]
}

// pythonList writes the domain of p as a Python expression.
func pythonList(p space.Parameter) string {
	if n := p.Len(); p.Type == space.TypeInt && n > 8 {
		return fmt.Sprintf("list(range(%d, %d, %d))", p.From, p.From+int64(n)*p.Step, p.Step)
	}
	var words []string
	for i := range p.Len() {
		words = append(words, show(p.At(i).Any()))
	}
	return "[" + strings.Join(words, ", ") + "]"
}
