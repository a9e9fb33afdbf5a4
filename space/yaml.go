package space

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
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
	// Start are points that a search should evaluate first, each as a key that may leave out parameters: see Space.ParsePartial.
	Start []string

	// lines has the line of each constraint, 0 where it does not come from a file, and startLines that of each start point.
	lines, startLines []int
}

// Read reads a space in its YAML form, as Write writes it, which must be all of r. Each error names the line, and the nearest correct
// field or type where a wrong one is given.
func Read(r io.Reader) (*Space, error) { return read(r, defaultLimits) }

// maxFileBytes limits the size of a file: in memory it takes a hundred times that.
const maxFileBytes = 2 << 20

func read(r io.Reader, limits limits) (*Space, error) {
	d, err := decode(r)
	if err != nil {
		return nil, err
	}
	return d.space(limits)
}

// ReadDocument is Read for a text that a person wrote, in which a LoneNumber is an error. It returns the definition, which has the start
// points too. Document.Space makes the space.
func ReadDocument(r io.Reader) (Document, error) {
	d, err := decode(r)
	if err == nil {
		err = d.loneNumber()
	}
	return d, err
}

// Written is Space for texts that a person wrote, in which a LoneNumber is an error.
func (d Document) Written() (*Space, error) {
	s, err := d.Space()
	if err == nil {
		err = d.loneNumber()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// loneNumber reports a LoneNumber in a condition or a constraint.
func (d Document) loneNumber() error {
	for i, p := range d.Parameters {
		if err := LoneNumber(p.When); err != nil {
			return d.located(fmt.Errorf("space %q: %w", d.Name, &definitionError{parameter: i, constraint: -1, label: conditionOf(p.Name), err: err}))
		}
	}
	for i, c := range d.Constraints {
		if err := LoneNumber(c); err != nil {
			return d.located(fmt.Errorf("space %q: %w", d.Name, &definitionError{parameter: -1, constraint: i, label: constraintAt(i), err: err}))
		}
	}
	return nil
}

// decode reads a definition.
func decode(r io.Reader) (d Document, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("the file has more than %d MiB, the most that is read of a space", maxFileBytes>>20)
	}
	if err != nil {
		return d, fmt.Errorf("read space: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root yaml.Node
	if err = decoder.Decode(&root); err == nil {
		err = cmp.Or(Unread(data, &root), root.Decode(&d))
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return d, fmt.Errorf("read space: %w", SyntaxError(data, err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("a second YAML document follows the space: want one")
		}
		return d, fmt.Errorf("read space: %w", err)
	}
	return d, nil
}

// Space returns the space that d describes, as New does; errors name the line where d came from a file.
func (d Document) Space() (*Space, error) { return d.space(defaultLimits) }

func (d Document) space(limits limits) (*Space, error) {
	s, err := newSpace(d.Name, d.Parameters, d.Constraints, limits)
	if err == nil {
		if err = d.checkStart(s); err != nil {
			return nil, err
		}
	}
	return s, d.located(err)
}

// located names the line in an error about a parameter or a constraint.
func (d Document) located(err error) error {
	var at *definitionError
	if !errors.As(err, &at) {
		return err
	}
	line := 0
	switch {
	case at.parameter >= 0:
		line = d.Parameters[at.parameter].line
	case at.constraint >= 0 && at.constraint < len(d.lines):
		line = d.lines[at.constraint]
	}
	if line == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// checkStart reports a start point that is no point of the space.
func (d Document) checkStart(s *Space) error {
	for i, key := range d.Start {
		if _, err := s.ParsePartial(key); err != nil {
			err = fmt.Errorf("space %q: start point %d: %w", d.Name, i+1, err)
			if i < len(d.startLines) {
				err = fmt.Errorf("line %d: %w", d.startLines[i], err)
			}
			return err
		}
	}
	return nil
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
		example := ""
		if what == "parameter" {
			example = ", as in {name: tile, type: int, from: 1, to: 8}"
		}
		return nil, fmt.Errorf("line %d: a %s is a mapping with the fields %s%s", node.Line, what, strings.Join(known, ", "), example)
	}
	f := &fields{node: node, what: what, at: map[string]*yaml.Node{}}
	var unknown []*yaml.Node
	var hints []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := resolve(node.Content[i])
		if key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value) {
			if begun, rest, colon := strings.Cut(key.Value, ":"); colon && slices.Contains(known, begun) {
				return nil, fmt.Errorf("line %d: put a blank behind the colon: %s: %s", key.Line, begun, rest)
			}
			hint := DidYouMean(key.Value, known)
			if meant := fieldSynonyms[strings.ToLower(key.Value)]; slices.Contains(known, meant) {
				hint = fmt.Sprintf(" (did you mean %q?)", meant)
			}
			if slices.Contains([]string{"range", "bounds", "interval", "domain"}, strings.ToLower(key.Value)) && slices.Contains(known, "from") {
				hint = " (write from and to, as in from: 1, to: 8)"
			}
			if unknown = append(unknown, key); hint == "" {
				hints = append(hints, "; the fields are "+strings.Join(known, ", "))
				break
			}
			hints = append(hints, hint)
			continue
		}
		if f.at[key.Value] != nil {
			return nil, fmt.Errorf("line %d: field %q is given twice", key.Line, key.Value)
		}
		f.at[key.Value] = resolve(node.Content[i+1])
	}
	if len(unknown) == 0 {
		return f, nil
	}
	for i, key := range unknown[1:] {
		hints[0] += fmt.Sprintf(", and no field %q%s", key.Value, hints[i+1])
	}
	return nil, fmt.Errorf("line %d: a %s has no field %q%s", unknown[0].Line, what, unknown[0].Value, hints[0])
}

// fieldSynonyms are words that people write for the fields of a parameter.
var fieldSynonyms = map[string]string{
	"min": "from", "low": "from", "lower": "from", "start": "from", "minimum": "from", "max": "to", "high": "to", "upper": "to", "stop": "to", "end": "to", "maximum": "to",
	"choices": "values", "options": "values", "list": "values", "domain": "values", "condition": "when", "if": "when", "increment": "step",
	"description": "doc", "help": "doc", "comment": "doc", "kind": "type", "init": "default", "initial": "default",
}

// typeSynonyms are words that people write for the types of parameters.
var typeSynonyms = map[string]string{
	"integer": "int", "boolean": "bool", "flag": "bool", "real": "float", "double": "float", "continuous": "float", "number": "float",
	"string": "enum", "str": "enum", "text": "enum", "choice": "enum", "categorical": "enum", "list": "enum", "power": "pow2", "powers": "pow2", "power2": "pow2", "log2": "pow2",
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
	return fmt.Errorf("line %d: %s: %w", line, name, fmt.Errorf(format, args...))
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
	if text := Tagged(n); text != "" {
		return "", f.fail(name, "YAML takes a text that begins with ! for a tag: write it in quotes, \"%s\"", text)
	}
	return n.Value, nil
}

// Tagged returns the text of a scalar that begins with ! and has no quotes, the beginning of which YAML takes for a tag; "" where there is
// none.
func Tagged(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return ""
	}
	return strings.TrimSpace(n.Tag + " " + n.Value)
}

// integer reads an integer field; ok is false where it is missing.
func (f *fields) integer(name string) (v int64, ok bool, err error) {
	n := f.at[name]
	if n == nil {
		return 0, false, nil
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil {
		if _, err := strconv.ParseInt(n.Value, 10, 64); err == nil && n.ShortTag() == "!!str" {
			return 0, false, f.fail(name, "%q is a text: leave the quotes out", n.Value)
		}
		return 0, false, f.fail(name, "%q is not a 64-bit integer: want a whole number in digits", n.Value)
	}
	return v, true, nil
}

// number reads a finite number; ok is false where it is missing.
func (f *fields) number(name string) (v float64, ok bool, err error) {
	n := f.at[name]
	if n == nil {
		return 0, false, nil
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" || n.Decode(&v) != nil || !Finite(v) {
		return 0, false, f.fail(name, "%q is not a finite number", n.Value)
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
		return nil, f.fail(name, "expected a list, as in [a, b]")
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
	if text := Tagged(n); text != "" {
		return Value{}, fmt.Errorf("line %d: YAML takes a value that begins with ! for a tag: write it in quotes, \"%s\"", n.Line, text)
	}
	return Value{}, fmt.Errorf("line %d: %q is not a number, text, true or false", n.Line, n.Value)
}

// UnmarshalYAML reads the fields name, parameters, constraints and start.
func (d *Document) UnmarshalYAML(node *yaml.Node) error {
	f, err := readFields(node, "space", "name", "parameters", "constraints", "start")
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
		if text := Tagged(n); text != "" {
			return fmt.Errorf("line %d: YAML takes a constraint that begins with ! for a tag: write it in quotes, \"%s\"", n.Line, text)
		}
		if text := Anchored(n); text != "" {
			if _, err := parseExpr(n.Value); err != nil {
				return fmt.Errorf("line %d: %s", n.Line, text)
			}
		}
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			return fmt.Errorf("line %d: a constraint is an expression in one text, as in - a < b", n.Line)
		}
		d.Constraints = append(d.Constraints, n.Value)
		d.lines = append(d.lines, n.Line)
	}
	return d.readStart(f)
}

// readStart reads the start points: keys, or mappings from parameters to values.
func (d *Document) readStart(f *fields) error {
	start, err := f.list("start")
	if err != nil {
		return err
	}
	for _, n := range start {
		key := n.Value
		if n.Kind != yaml.ScalarNode {
			if n.Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: a start point is a mapping from parameters to values, or a text such as tile=16 unroll=4", n.Line)
			}
			var pairs []string
			for i := 0; i+1 < len(n.Content); i += 2 {
				v, err := scalar(resolve(n.Content[i+1]))
				if err != nil {
					return err
				}
				pairs = append(pairs, resolve(n.Content[i]).Value+"="+v.String())
			}
			key = strings.Join(pairs, " ")
		}
		d.Start, d.startLines = append(d.Start, key), append(d.startLines, n.Line)
	}
	return nil
}

// parameterFields are the fields of a parameter.
var parameterFields = []string{"name", "type", "from", "to", "step", "steps", "scale", "values", "default", "when", "doc"}

// UnmarshalYAML reads the fields name, doc, type, from, to, step, steps, scale, values, default and when. Type is one of int (step
// defaults to 1), float, pow2, enum and bool.
func (p *Parameter) UnmarshalYAML(node *yaml.Node) error { return p.Read(node) }

// valuesOf says of the types that take no values where theirs come from.
var valuesOf = map[string]string{
	"int": "takes from, to and step", "pow2": "takes from and to", floatType: "takes from, to and steps", "bool": "has false and true",
}

// Read is UnmarshalYAML for a file whose parameters have more fields, which the caller reads.
func (p *Parameter) Read(node *yaml.Node, more ...string) error {
	f, err := readFields(node, "parameter", slices.Concat(parameterFields, more)...)
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
	names := slices.Insert(slices.Clone(typeNames[TypeInt:]), 1, floatType)
	at := slices.Index(typeNames[TypeInt:], typeName)
	switch {
	case typeName == floatType:
		at = int(TypeEnum - TypeInt)
	case f.at["type"] == nil && f.at["values"] != nil:
		return f.fail("type", "parameter %q has no type: for a list of values write type: enum", p.Name)
	case f.at["type"] == nil:
		return f.fail("type", "parameter %q has no type; the types are %s", p.Name, strings.Join(names, ", "))
	case at < 0:
		hint := DidYouMean(typeName, names)
		if meant := typeSynonyms[strings.ToLower(typeName)]; meant != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", meant)
		}
		return f.fail("type", "there is no type %q%s; the types are %s", typeName, hint, strings.Join(names, ", "))
	}
	p.Type = TypeInt + Type(at)
	if source := valuesOf[typeName]; f.at["values"] != nil && source != "" {
		return f.fail("values", "type %s %s instead of a list: leave values out, or write type: enum", typeName, source)
	}
	if p.Grid, err = f.grid(p.Name, typeName); err != nil {
		return err
	}
	if p.Grid == nil {
		err = p.readRange(f)
	}
	if err != nil {
		return err
	}
	return p.readValues(f)
}

// readValues reads values and default.
func (p *Parameter) readValues(f *fields) error {
	values, err := f.list("values")
	if err != nil {
		return err
	}
	switch n := f.at["values"]; {
	case p.Grid != nil:
		p.Type, p.Values = TypeEnum, p.Grid.values()
	case p.Type == TypeEnum && n == nil:
		return f.fail("values", "parameter %q of type enum needs it: list its values, as in values: [1, 2, 4]", p.Name)
	case p.Type == TypeEnum && len(values) == 0:
		return f.fail("values", "it is empty: list the values, as in values: [1, 2, 4]")
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

// grid reads from, to, step, steps and scale of a parameter whose values are those of a Grid: a float, or an int with scale: log.
// It returns nil for any other one.
func (f *fields) grid(name, typeName string) (*Grid, error) {
	scale, err := f.text("scale")
	whole := typeName == typeNames[TypeInt]
	switch {
	case err != nil:
		return nil, err
	case scale != "" && scale != "linear" && scale != "log":
		return nil, f.fail("scale", "there is no scale %q%s; the scales are linear, log", scale, DidYouMean(scale, []string{"linear", "log"}))
	case f.at["scale"] != nil && !whole && typeName != floatType:
		return nil, f.fail("scale", "type %s does not take it: only int and float do", typeName)
	case f.at["steps"] != nil && !whole && typeName != floatType:
		return nil, f.fail("steps", "type %s does not take it: only float, and int with scale: log do", typeName)
	case whole && scale != "log" && f.at["steps"] != nil:
		return nil, f.fail("steps", "an int has step, the distance of its values, unless it has scale: log: write one of them")
	case typeName != floatType && (!whole || scale != "log"):
		return nil, nil
	}
	g := &Grid{Log: scale == "log", Whole: whole}
	for _, end := range []struct {
		name string
		to   *float64
	}{{"from", &g.From}, {"to", &g.To}} {
		v, ok, err := f.number(end.name)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, f.fail(end.name, "parameter %q of type %s needs it", name, typeName)
		}
		*end.to = v
	}
	if g.Steps, err = f.steps(*g); err != nil {
		return nil, err
	}
	if err := g.Validate(); err != nil {
		return nil, f.fail("type", "parameter %q: %w", name, err)
	}
	return g, nil
}

// steps reads how many steps a grid has, from steps, or from step, their size.
func (f *fields) steps(g Grid) (int, error) {
	n, ok, err := f.integer("steps")
	step, sized, serr := f.number("step")
	switch {
	case err != nil:
		return 0, err
	case serr != nil:
		return 0, serr
	case sized && g.Log:
		return 0, f.fail("step", "the values of scale: log have no equal distance: write steps, their number, instead")
	case ok && sized:
		return 0, f.fail("step", "there is steps too: write one of them")
	case ok:
		return int(min(max(n, 0), maxValues)), nil
	case !sized && g.Log:
		return 0, f.fail("steps", "scale: log needs it: the number of steps from %s to %s, as in steps: 20", plainNumber(g.From), plainNumber(g.To))
	case !sized:
		return 0, f.fail("steps", "type float needs it: the number of steps from %s to %s, as in steps: 20, or step, their size", plainNumber(g.From), plainNumber(g.To))
	case step <= 0:
		return 0, f.fail("step", "%s is not above 0", plainNumber(step))
	}
	count := (g.To - g.From) / step
	whole := math.Round(count)
	if whole < 1 || whole >= maxValues || math.Abs(count-whole) > nearly {
		return 0, f.fail("step", "from %s to %s there are %.6g steps of %s: want a whole number of them, from 1 to %d",
			plainNumber(g.From), plainNumber(g.To), count, plainNumber(step), maxValues-1)
	}
	return int(whole), nil
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
	if len(d.Start) > 0 {
		start := &yaml.Node{Kind: yaml.SequenceNode}
		for _, key := range d.Start {
			start.Content = append(start.Content, textNode(key))
		}
		addField(document, "start", start)
	}
	return document, nil
}

// MarshalYAML writes the parameter as a mapping on one line.
func (p Parameter) MarshalYAML() (any, error) { return p.node(), nil }

func (p Parameter) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	addField(n, "name", textNode(p.Name))
	addField(n, "type", textNode(p.TypeName()))
	if g := p.Grid; g != nil {
		addField(n, "from", numberNode(g.From))
		addField(n, "to", numberNode(g.To))
		addField(n, "steps", IntValue(int64(g.Steps)).node())
		if g.Log {
			addField(n, "scale", textNode("log"))
		}
	}
	if p.Type == TypeInt || p.Type == TypePow2 {
		addField(n, "from", IntValue(p.From).node())
		addField(n, "to", IntValue(p.To).node())
	}
	if p.Type == TypeInt && p.Step != 1 {
		addField(n, "step", IntValue(p.Step).node())
	}
	if p.Type == TypeEnum && p.Grid == nil {
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

// numberNode is a number in the fewest digits.
func numberNode(v float64) *yaml.Node {
	if wholeNumber(v) {
		return IntValue(int64(v)).node()
	}
	return FloatValue(v).node()
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
