package space

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is the YAML form of a space. Files of other packages embed it as a field, or Read reads it alone. Unknown fields, and
// fields given twice, are errors that name the line.
type Document struct {
	Name        string
	Parameters  []Parameter
	Constraints []string

	// lines has the line of each constraint, 0 where it does not come from a file.
	lines []int
}

// Read reads a space in its YAML form, which must be all of r. Each error names the line, and the nearest correct field or type
// where a wrong one is given.
func Read(r io.Reader) (*Space, error) { return read(r, defaultLimits) }

// maxFileBytes limits the size of a file: in memory it takes a hundred times that.
const maxFileBytes = 2 << 20

func read(r io.Reader, limits limits) (*Space, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("the file has more than %d MiB, the most that is read of a space", maxFileBytes>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("read space: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var d Document
	if err := decoder.Decode(&d); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, fmt.Errorf("read space: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("a second YAML document follows the space")
		}
		return nil, fmt.Errorf("read space: %w", err)
	}
	return d.space(limits)
}

// Space returns the space that d describes, as New does; errors name the line where d came from a file.
func (d Document) Space() (*Space, error) { return d.space(defaultLimits) }

func (d Document) space(limits limits) (*Space, error) {
	s, err := newSpace(d.Name, d.Parameters, d.Constraints, limits)
	var at *definitionError
	if !errors.As(err, &at) {
		return s, err
	}
	line := 0
	switch {
	case at.parameter >= 0:
		line = d.Parameters[at.parameter].line
	case at.constraint >= 0 && at.constraint < len(d.lines):
		line = d.lines[at.constraint]
	}
	if line == 0 {
		return nil, err
	}
	return nil, fmt.Errorf("line %d: %w", line, err)
}

// WithLines returns a copy of d whose errors name the given lines of a file in another format: one for each parameter, and one
// for each constraint.
func (d Document) WithLines(parameters, constraints []int) Document {
	d.Parameters, d.lines = slices.Clone(d.Parameters), constraints
	for i := range min(len(parameters), len(d.Parameters)) {
		d.Parameters[i].line = parameters[i]
	}
	return d
}

// Document returns the definition of s in its YAML form.
func (s *Space) Document() Document {
	return Document{Name: s.name, Parameters: s.Parameters(), Constraints: s.Constraints()}
}

// Write writes s in its YAML form. Read returns a space with the same fingerprint. A space of FromRows has no YAML form.
func (s *Space) Write(w io.Writer) error {
	if s.listed {
		return fmt.Errorf("space %q is a list of rows, which the YAML form cannot hold", s.name)
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(s.Document()); err != nil {
		return fmt.Errorf("write space %q: %w", s.name, err)
	}
	return encoder.Close()
}

// fields is a YAML mapping with known fields.
type fields struct {
	node *yaml.Node
	what string
	at   map[string]*yaml.Node
}

// readFields checks that node is a mapping with only the known fields, each at most once.
func readFields(node *yaml.Node, what string, known ...string) (*fields, error) {
	node = resolve(node)
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: a %s is a mapping with the fields %s", node.Line, what, strings.Join(known, ", "))
	}
	f := &fields{node: node, what: what, at: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := resolve(node.Content[i])
		if key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value) {
			hint := DidYouMean(key.Value, known)
			if hint == "" {
				hint = "; the fields are " + strings.Join(known, ", ")
			}
			return nil, fmt.Errorf("line %d: a %s has no field %q%s", key.Line, what, key.Value, hint)
		}
		if f.at[key.Value] != nil {
			return nil, fmt.Errorf("line %d: field %q is given twice", key.Line, key.Value)
		}
		f.at[key.Value] = resolve(node.Content[i+1])
	}
	return f, nil
}

// resolve follows an alias to its target.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

// fail describes a fault in a field.
func (f *fields) fail(name, format string, args ...any) error {
	line := f.node.Line
	if n := f.at[name]; n != nil {
		line = n.Line
	}
	return fmt.Errorf("line %d: %s: %s", line, name, fmt.Sprintf(format, args...))
}

// text reads a string field; a number or a boolean may be written without quotes.
func (f *fields) text(name string) (string, error) {
	n := f.at[name]
	if n == nil {
		return "", nil
	}
	if n.Kind != yaml.ScalarNode {
		return "", f.fail(name, "expected a text")
	}
	if n.Tag == "!!null" {
		return "", nil
	}
	return n.Value, nil
}

// integer reads an integer field; ok is false where it is missing.
func (f *fields) integer(name string) (v int64, ok bool, err error) {
	n := f.at[name]
	if n == nil {
		return 0, false, nil
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		return 0, false, f.fail(name, "%q is not a 64-bit integer", n.Value)
	}
	return v, true, nil
}

// list returns the elements of a field, nil where it is missing.
func (f *fields) list(name string) ([]*yaml.Node, error) {
	n := f.at[name]
	if n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, f.fail(name, "expected a list")
	}
	elements := make([]*yaml.Node, len(n.Content))
	for i, element := range n.Content {
		elements[i] = resolve(element)
	}
	return elements, nil
}

// scalar converts a YAML scalar by its tag.
func scalar(n *yaml.Node) (Value, error) {
	if n.Kind == yaml.ScalarNode {
		switch n.ShortTag() {
		case "!!int":
			var v int64
			if n.Decode(&v) == nil {
				return IntValue(v), nil
			}
			return Value{}, fmt.Errorf("line %d: %s does not fit a 64-bit integer", n.Line, n.Value)
		case "!!float":
			var v float64
			// The YAML package reads an integer that is too large as a float, which would round it.
			if !strings.ContainsAny(n.Value, ".eE") {
				return Value{}, fmt.Errorf("line %d: %s does not fit a 64-bit integer", n.Line, n.Value)
			}
			if n.Decode(&v) == nil {
				return FloatValue(v), nil
			}
		case "!!bool":
			var v bool
			if n.Decode(&v) == nil {
				return BoolValue(v), nil
			}
		case "!!str":
			return StringValue(n.Value), nil
		}
	}
	return Value{}, fmt.Errorf("line %d: %q is not a number, text, true or false", n.Line, n.Value)
}

// UnmarshalYAML reads the fields name, parameters and constraints.
func (d *Document) UnmarshalYAML(node *yaml.Node) error {
	f, err := readFields(node, "space", "name", "parameters", "constraints")
	if err != nil {
		return err
	}
	*d = Document{}
	if d.Name, err = f.text("name"); err != nil {
		return err
	}
	parameters, err := f.list("parameters")
	if err != nil {
		return err
	}
	if len(parameters) > maxParameters {
		return f.fail("parameters", "%d are more than %d", len(parameters), maxParameters)
	}
	for _, n := range parameters {
		var p Parameter
		if err := p.UnmarshalYAML(n); err != nil {
			return err
		}
		d.Parameters = append(d.Parameters, p)
	}
	constraints, err := f.list("constraints")
	if err != nil {
		return err
	}
	for _, n := range constraints {
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: a constraint is an expression in one text", n.Line)
		}
		d.Constraints = append(d.Constraints, n.Value)
		d.lines = append(d.lines, n.Line)
	}
	return nil
}

// UnmarshalYAML reads the fields name, doc, type, from, to, step, values, default and when. Type is one of int (step defaults to
// 1), pow2, enum and bool.
func (p *Parameter) UnmarshalYAML(node *yaml.Node) error {
	f, err := readFields(node, "parameter", "name", "type", "from", "to", "step", "values", "default", "when", "doc")
	if err != nil {
		return err
	}
	*p = Parameter{line: f.node.Line}
	for _, field := range []struct {
		name string
		to   *string
	}{{"name", &p.Name}, {"doc", &p.Doc}, {"when", &p.When}} {
		if *field.to, err = f.text(field.name); err != nil {
			return err
		}
	}
	typeName, err := f.text("type")
	if err != nil {
		return err
	}
	names := typeNames[TypeInt:]
	at := slices.Index(names, typeName)
	switch {
	case f.at["type"] == nil:
		return f.fail("type", "parameter %q has no type; the types are %s", p.Name, strings.Join(names, ", "))
	case at < 0:
		return f.fail("type", "there is no type %q%s; the types are %s", typeName, DidYouMean(typeName, names), strings.Join(names, ", "))
	}
	p.Type = TypeInt + Type(at)
	if err := p.readRange(f); err != nil {
		return err
	}
	values, err := f.list("values")
	if err != nil {
		return err
	}
	if len(values) > maxValues {
		return f.fail("values", "%d are more than %d", len(values), maxValues)
	}
	for _, n := range values {
		v, err := scalar(n)
		if err != nil {
			return err
		}
		p.Values = append(p.Values, v)
	}
	if n := f.at["default"]; n != nil {
		v, err := scalar(n)
		if err != nil {
			return err
		}
		p.Default = &v
	}
	return nil
}

// readRange reads from, to and step, and reports which of them the type needs or does not take.
func (p *Parameter) readRange(f *fields) error {
	for _, field := range []struct {
		name  string
		to    *int64
		takes bool
	}{
		{"from", &p.From, p.Type == TypeInt || p.Type == TypePow2},
		{"to", &p.To, p.Type == TypeInt || p.Type == TypePow2},
		{"step", &p.Step, p.Type == TypeInt},
	} {
		v, ok, err := f.integer(field.name)
		switch {
		case err != nil:
			return err
		case ok && !field.takes:
			return f.fail(field.name, "type %s does not take it", p.Type)
		case !ok && field.takes && field.name != "step":
			return f.fail(field.name, "parameter %q of type %s needs it", p.Name, p.Type)
		case !ok && field.takes:
			v = 1
		}
		*field.to = v
	}
	return nil
}

// MarshalYAML writes one line a parameter.
func (d Document) MarshalYAML() (any, error) {
	parameters := &yaml.Node{Kind: yaml.SequenceNode}
	for _, p := range d.Parameters {
		parameters.Content = append(parameters.Content, p.node())
	}
	document := &yaml.Node{Kind: yaml.MappingNode}
	addField(document, "name", textNode(d.Name))
	addField(document, "parameters", parameters)
	if len(d.Constraints) > 0 {
		constraints := &yaml.Node{Kind: yaml.SequenceNode}
		for _, text := range d.Constraints {
			constraints.Content = append(constraints.Content, textNode(text))
		}
		addField(document, "constraints", constraints)
	}
	return document, nil
}

// MarshalYAML writes the parameter as a mapping on one line.
func (p Parameter) MarshalYAML() (any, error) { return p.node(), nil }

func (p Parameter) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	addField(n, "name", textNode(p.Name))
	addField(n, "type", textNode(p.Type.String()))
	if p.Type == TypeInt || p.Type == TypePow2 {
		addField(n, "from", IntValue(p.From).node())
		addField(n, "to", IntValue(p.To).node())
	}
	if p.Type == TypeInt && p.Step != 1 {
		addField(n, "step", IntValue(p.Step).node())
	}
	if p.Type == TypeEnum {
		values := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, v := range p.Values {
			values.Content = append(values.Content, v.node())
		}
		addField(n, "values", values)
	}
	if p.Default != nil {
		addField(n, "default", p.Default.node())
	}
	if p.When != "" {
		addField(n, "when", textNode(p.When))
	}
	if p.Doc != "" {
		addField(n, "doc", textNode(p.Doc))
	}
	return n
}

func addField(mapping *yaml.Node, name string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
}

// textNode is a string, quoted where it would otherwise read as another type.
func textNode(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	if n.Style == yaml.LiteralStyle {
		// A block scalar is not allowed in a mapping on one line, and loses some white space.
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// node is the value as a YAML scalar.
func (v Value) node() *yaml.Node {
	switch v.kind {
	case kindInt:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.int(), 10)}
	case kindFloat:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: formatFloat(v.float())}
	case kindBool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.bool())}
	}
	return textNode(v.text)
}
