package user

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// definition is the content of a kernel file.
type definition struct {
	name, doc string
	shape     []kernels.Field
	space     definedSpace
	source    *source
	command   *command
	settings  *yaml.Node // of the tool; nil where there are none
	presets   []Preset
}

// definedSpace is a space whose expressions may use constants of the shape.
type definedSpace struct {
	name        string
	parameters  []space.Parameter
	constraints []string
	starts      []startPoint
}

// source is a kernel in C or C++.
type source struct {
	name      string // of the file, for messages and line directives
	textLine  int    // the number of lines before the text in the kernel's own file; 0 where the source has its own file
	text      template
	language  string
	define    bool // whether parameters are #defines, and not placeholders in the text
	defined   map[string]bool
	function  string
	arguments []argument
	reference reference
	compilers []string
	flags     []template
	dir       string       // absolute, of the kernel's file: paths in flags are relative to it
	switches  []flagSwitch // of the parameters, after the flags
	threads   expr
	ops       expr // the zero expr where not stated
	bytes     expr
	cold      bool
	asIs      bool // whether constant and file inputs stay unchanged in timed calls, unless their argument says otherwise
	fast      bool // whether even implausibly short times are accepted
	limits    sourceBounds
	peers     []peer
	// The position of the function and its arguments in the file.
	functionNode, argumentsNode node
	compilerNodes               []node // of the compilers
}

// flagSwitch is a parameter that decides about compiler flags.
type flagSwitch struct {
	parameter string
	flags     map[string]template // by the value of the parameter, as in keys; no entry means no flag
}

type sourceBounds struct {
	compile, call time.Duration // 0 where not stated
	memory        int64         // 0 where not stated
}

// argument is one argument of a function: a buffer, or a scalar.
type argument struct {
	name   string
	ctype  ctype
	scalar bool
	value  expr // of a scalar
	node   node // its position in the file
	// The rest is of buffers.
	length    expr
	mode      native.Mode
	fill      fill
	vary      choice // of an input that is not random
	tolerance tolerance
}

// fill says what a buffer holds before a call.
type fill struct {
	kind     fillKind
	low      expr // of a range
	high     expr
	integers bool
	constant expr
	name     string
	data     []byte // of a file, in the machine's byte order
}

type fillKind uint8

const (
	fillRandom fillKind = iota + 1
	fillConstant
	fillFile
)

// tolerance is how far a result may be from the reference.
type tolerance struct {
	absolute, relative float64 // both 0: exact
}

// reference says what a right result is: that of a function, or the content of files.
type reference struct {
	name     string // of the file, "" for the tuned source
	text     template
	language string
	function string
	node     node              // the position of its name in the file
	outputs  map[string][]byte // by argument, in the machine's byte order; nil where there is a function
	// flags replace the default flags of the reference, where flagsGiven is set; parameters are the values that the file states
	// for it, written as in keys.
	flags      []template
	flagsGiven bool
	parameters map[string]string
	shapes     []map[string]int
}

// command is a kernel that is any program.
type command struct {
	run, build, check *line
	setup, cleanup    *line  // once for all points; nil where there is none
	prepare           *line  // before each run
	warmup            int    // runs of a candidate before its first measured one
	directory         string // relative to the file
	environment       []variable
	own               bool // each candidate has its own directory with copies of these files
	files             []copied
	metric            metric
	others            []namedMetric // reported beside the metric
	limits            commandBounds
}

// namedMetric is a number that is reported and not tuned.
type namedMetric struct {
	name string
	metric
}

// line is a command line: words, or a text for the shell.
type line struct {
	shell  bool
	words  []template
	places []quoting // for each part of the only word, where it is a text for the shell
}

type variable struct {
	name  string
	value template
}

// copied is a file that every candidate gets a copy of.
type copied struct {
	name  string // relative to where the commands run
	mode  fs.FileMode
	text  template // its content as a template, if it is one
	data  []byte
	fixed bool // whether it is copied unchanged
}

type commandBounds struct {
	run, build, check       time.Duration
	setup, prepare, cleanup time.Duration
	memory, output, file    int64
}

// templates returns all texts of a command in which values are put.
func (c *command) templates() []template {
	var out []template
	for _, l := range []*line{c.build, c.prepare, c.run, c.check} {
		if l != nil {
			out = append(out, l.words...)
		}
	}
	for _, v := range c.environment {
		out = append(out, v.value)
	}
	for _, f := range c.files {
		out = append(out, f.text)
	}
	for _, m := range c.metrics() {
		out = append(out, parseTemplate(m.file))
	}
	return out
}

// IsKernelNode is IsKernel for a document that is parsed.
func IsKernelNode(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i].Value; {
		case key == "source" || key == "command" || key == "space":
			return true
		case key == "kernel" && resolve(root.Content[i+1]).Kind == yaml.MappingNode:
			return true
		}
	}
	return false
}

// IsKernel reports whether the text of a YAML file describes a kernel, and not settings of the tool: whether it has the keys
// source, command or space, or kernel as a mapping.
func IsKernel(data []byte) bool {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return false
	}
	return IsKernelNode(doc.Content[0])
}

// most is the default upper bound of a constant of the shape.
const most = 1 << 40

// define reads the whole file.
func (r *reader) define(root node, w world) *definition {
	f := r.fields(root, fileObject)
	k := f.object("kernel")
	d := &definition{name: k.line("name"), doc: k.line("doc")}
	switch {
	case d.name == "" && !k.has("name"):
		d.name = strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))
	case strings.ContainsFunc(d.name, func(c rune) bool { return !isLetter(byte(c)) && !isDigit(byte(c)) && c != '-' && c != '.' || c > 127 }):
		r.fault(k.at["name"], "%q: want letters, digits, - _ and .", d.name)
	}
	if d.doc == "" {
		d.doc = "a kernel of " + filepath.Base(r.file)
	}
	before := len(r.faults)
	d.shape = r.shape(k)
	ns := r.space(f, d, len(r.faults) == before && !f.misspells("kernel") && !k.misspells("shape"))
	switch {
	case f.has("source") && f.has("command"):
		r.fault(f.at["command"], "there is a source already, on line %d: want one of the two", f.at["source"].Line)
	case f.has("source"):
		d.source = r.source(f.object("source"), d, ns, w)
	case f.has("command"):
		d.command = r.command(f.object("command"), ns, w)
	case root.Node != nil && root.Kind == yaml.MappingNode && !f.mentions("source") && !f.mentions("command"):
		r.fault(root, "want a field source or command, which says what to tune")
	}
	r.starts(d, ns)
	if n, ok := f.at["run"]; ok {
		if n.Kind != yaml.MappingNode {
			r.fault(n, "want settings, one on each line, such as budget: 90s")
		} else {
			d.settings = n.Node
		}
	}
	r.presets(f.at["presets"], d, ns)
	return d
}

// shape reads the constants.
func (r *reader) shape(k *fields) []kernels.Field {
	n, ok := k.at["shape"]
	if !ok {
		return nil
	}
	var out []kernels.Field
	for _, p := range r.pairs(n, "names to numbers, as in {n: 1024}") {
		if !isName(p.name) || strings.HasPrefix(p.name, "tune_") || p.name == "seed" || p.name == "here" {
			r.fault(p.key, "%q cannot name a constant: want letters, digits and _, but not seed, here or tune_…", p.name)
			continue
		}
		if _, err := space.New("", []space.Parameter{space.Range(p.name, 1, 1)}); err != nil || p.name == "if" || p.name == "else" {
			r.fault(p.key, "%q cannot name a constant: it is a word of expressions", p.name)
			continue
		}
		field := kernels.Field{Name: p.name, Doc: "a constant of the problem", Min: 1, Max: most}
		if low, high, isRange := rangeOf(p.value); isRange {
			r.fault(p.value, "want a number, or a range with the number that holds without --shape, as in {default: %s, from: %s, to: %s}", high, low, high)
			continue
		}
		if p.value.Kind != yaml.MappingNode {
			v, ok := r.whole(p.value, -most, most)
			if !ok {
				continue
			}
			field.Default, field.Min = strconv.FormatInt(v, 10), min(1, int(v))
			out = append(out, field)
			continue
		}
		f := r.fields(p.value, shapeObject)
		if v, ok := f.whole("from", -most, most); ok {
			field.Min = int(v)
		}
		if v, ok := f.whole("to", -most, most); ok {
			field.Max = int(v)
		}
		if f.has("doc") {
			field.Doc = f.line("doc")
		}
		v, ok := f.whole("default", -most, most)
		switch {
		case field.Min > field.Max:
			r.fault(p.value, "from %d is greater than to %d: swap them", field.Min, field.Max)
		case ok && (int(v) < field.Min || int(v) > field.Max):
			r.fault(f.at["default"], "%d is not in the range %d to %d", v, field.Min, field.Max)
		}
		field.Default = strconv.FormatInt(v, 10)
		out = append(out, field)
	}
	return out
}

// dotsPattern matches a range as other languages write it.
var dotsPattern = pattern.Lazy(`^(-?[0-9]+) *(?:\.\.+|:|-|…|–) *(-?[0-9]+)$`)

// rangeOf returns the ends of a range that was written in place of a number.
func rangeOf(n node) (low, high string, ok bool) {
	if n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
		return n.Content[0].Value, n.Content[len(n.Content)-1].Value, true
	}
	if m := dotsPattern().FindStringSubmatch(n.Value); n.Kind == yaml.ScalarNode && m != nil {
		return m[1], m[2], true
	}
	return "", "", false
}

// constants returns the constants of a shape by name.
func constants(fields []kernels.Field, s kernels.Shape) map[string]int {
	out := map[string]int{}
	for _, f := range fields {
		out[f.Name] = s.Int(f.Name)
	}
	return out
}

// names are the names that texts and expressions of a file may use.
type names struct {
	constants  []string
	parameters []space.Parameter
	nodes      []node // of the parameters
	switches   []node // the fields flag of the parameters, with no node where there is none
	starts     []node // of the start points
	used       map[string]bool
	compilers  []string // that the file lists
	// broken says that some parameters could not be read, so that an unknown name may be one of them, and shapeless that of some constants.
	broken, shapeless bool
}

func (ns *names) all() []string {
	out := slices.Clone(ns.constants)
	for _, p := range ns.parameters {
		out = append(out, p.Name)
	}
	return out
}

// scope returns the constants and the parameters, for checking expressions.
func (ns *names) scope() []space.Parameter {
	var out []space.Parameter
	for _, name := range ns.constants {
		out = append(out, space.Range(name, 1, 1))
	}
	return append(out, ns.parameters...)
}

// otherwise reports whether an expression is wrong in another way than by a name that does not exist, such as a text without quotes.
func (ns *names) otherwise(e expr) bool {
	if e.IsZero() || ns.broken {
		return false
	}
	_, err := e.Check(ns.scope())
	bad, wrong := errors.AsType[*space.ExprError](err)
	return wrong && !strings.HasPrefix(bad.Reason, unknownName)
}

// names checks the names and the types of an expression, which is the value of a node.
func (r *reader) names(n node, e expr, ns *names) bool {
	fine, otherwise := true, ns.otherwise(e)
	for _, m := range e.names() {
		ns.used[m.name] = true
		if !slices.Contains(ns.all(), m.name) && !ns.broken && !otherwise {
			r.faultInside(n, m.offset, "there is no parameter and no constant %q%s", m.name, space.NameHint(m.name, ns.all()))
			fine = false
		}
	}
	if !fine || ns.broken {
		return fine
	}
	isText, err := e.Check(ns.scope())
	switch bad, ok := errors.AsType[*space.ExprError](err); {
	case ok:
		r.faultInside(n, offsetOf(bad.Expr, bad.Column), "%s", bad.Reason)
		return false
	case isText:
		r.fault(n, "the expression is a text: want a number")
		return false
	}
	return true
}

// constantExpr reads an expression over constants only.
func (r *reader) constantExpr(f *fields, name string, ns *names) expr {
	e, ok := f.expr(name)
	if !ok {
		return expr{}
	}
	n := f.at[name]
	fine := true
	for _, m := range e.names() {
		if slices.Contains(ns.constants, m.name) {
			continue
		}
		fine = false
		if slices.Contains(ns.all(), m.name) {
			r.faultInside(n, m.offset, "%s is a parameter: only constants of the shape may stand here", m.name)
		} else if !ns.shapeless {
			r.faultInside(n, m.offset, "there is no constant %q%s", m.name, space.NameHint(m.name, ns.constants))
		}
	}
	if !fine || !r.names(n, e, ns) {
		return expr{}
	}
	return e
}

// namedExpr reads an expression over parameters and constants.
func (r *reader) namedExpr(f *fields, name string, ns *names) (expr, bool) {
	e, ok := f.expr(name)
	if !ok || !r.names(f.at[name], e, ns) {
		return expr{}, false
	}
	return e, true
}

// template reads a text with placeholders for values.
func (r *reader) template(n node, ns *names, also ...string) template {
	t := parseTemplate(n.Value)
	r.placeholders(t, ns, func(offset int, text string) { r.faultInside(n, offset, "%s", text) }, also)
	for _, stays := range t.unread(ns.all()) {
		r.warn(n, "%s stays as it is, because it is no expression: %s", stays[0], stays[1])
	}
	for _, open := range t.unclosed(slices.Concat(ns.all(), also)) {
		if r.made {
			break // the run began with it
		}
		r.faultInside(n, open.offset, "{{%[1]s has no closing braces: write {{%[1]s}}", open.name)
	}
	return t
}

// fileTemplate reads the text of a file with placeholders for values; its faults refer to that file.
func (r *reader) fileTemplate(file, path string, t template, ns *names, also ...string) template {
	r.placeholders(t, ns, func(offset int, text string) {
		line, column := position(t.src, offset)
		r.faults = append(r.faults, Fault{File: file, Line: line, Column: column, Field: path, Text: text})
	}, also)
	return t
}

// placeholders checks the names and the types in the placeholders of a text. also are names of further values, which may stand
// alone.
func (r *reader) placeholders(t template, ns *names, fault func(offset int, text string), also []string) {
	known := slices.Concat(ns.all(), also)
	for _, p := range t.parts {
		if p.name != "" {
			ns.used[p.name] = true
			if !slices.Contains(known, p.name) && !ns.broken {
				fault(p.offset, fmt.Sprintf("{{%s}}: there is no parameter and no constant of this name%s", p.name, space.DidYouMeanOneOf(p.name, known)))
			}
			continue
		}
		fine, otherwise := true, ns.otherwise(p.expr)
		for _, m := range p.expr.names() {
			ns.used[m.name] = true
			if !slices.Contains(ns.all(), m.name) && !ns.broken && !otherwise {
				fault(p.inside+m.offset, fmt.Sprintf("{{%s}}: there is no parameter and no constant %q%s", p.inner(), m.name, space.NameHint(m.name, ns.all())))
				fine = false
			}
		}
		if p.expr.IsZero() || !fine || ns.broken {
			continue
		}
		_, err := p.expr.Check(ns.scope())
		if bad, ok := errors.AsType[*space.ExprError](err); ok {
			fault(p.inside+offsetOf(bad.Expr, bad.Column), fmt.Sprintf("{{%s}}: %s", p.inner(), bad.Reason))
		}
	}
}

var spaceObject = &object{"space", []field{
	{name: "name", form: formText},
	{name: "parameters", doc: "what may vary", form: formOther, required: true},
	{name: "constraints", form: formOther},
	{name: "start", form: formOther},
}}

// space reads the parameters and constraints. known says whether all constants of the shape were read.
func (r *reader) space(root *fields, d *definition, known bool) *names {
	ns := &names{used: map[string]bool{}, broken: !known, shapeless: !known}
	for _, f := range d.shape {
		ns.constants = append(ns.constants, f.Name)
	}
	n, ok := root.at["space"]
	if !ok {
		ns.broken = true
		return ns
	}
	f := r.fields(n, spaceObject)
	d.space.name = d.name
	if f.has("name") {
		d.space.name = f.line("name")
	}
	if n, ok := f.at["parameters"]; ok && n.Kind == yaml.MappingNode && len(n.Content) > 1 && n.Content[0].Value == "name" {
		r.fault(n, "want a list of parameters: write - before the first field of each, as in - name: %s", n.Content[1].Value)
		delete(f.at, "parameters")
	} else if ok && n.Kind == yaml.MappingNode && len(n.Content) > 0 && unquoted(n.Node) == "" {
		r.fault(n, "want a list of parameters, each with its name, as in [{name: %s, type: int, from: 1, to: 8}]", n.Content[0].Value)
		delete(f.at, "parameters")
	}
	for _, pn := range f.list("parameters") {
		var p space.Parameter
		if err := p.Read(pn.Node, "flag"); err != nil {
			r.faults = append(r.faults, r.locate(pn, err))
			ns.broken = true
			continue
		}
		r.oneValue(pn, p)
		ns.parameters, ns.nodes = append(ns.parameters, p), append(ns.nodes, pn)
		flag := valueOf(pn, "flag")
		if flag.Node == pn.Node {
			flag = node{}
		}
		ns.switches = append(ns.switches, flag)
	}
	ns.broken = ns.broken || !f.has("parameters")
	for i, p := range ns.parameters {
		switch {
		case slices.Contains(ns.constants, p.Name):
			r.fault(valueOf(ns.nodes[i], "name"), "%s is a constant of the shape already", p.Name)
			ns.broken = true
		case p.Name == "seed" || p.Name == "here" || strings.HasPrefix(p.Name, "tune_"):
			r.fault(valueOf(ns.nodes[i], "name"), "%s is a reserved name: choose another one", p.Name)
		}
	}
	var constraints []node
	for _, c := range f.list("constraints") {
		if c.Kind != yaml.ScalarNode {
			r.fault(c, "a constraint is an expression in one text, as in - a < b")
			ns.broken = true
			continue
		}
		if r.tagged(c) {
			continue
		}
		constraints = append(constraints, c)
		d.space.constraints = append(d.space.constraints, c.Value)
	}
	ns.starts = f.list("start")
	d.space.parameters = ns.parameters
	if !ns.broken {
		ns.broken = !r.checkSpace(f, d, ns, constraints)
	}
	return ns
}

// plainWords matches a text of several words or numbers.
var plainWords = pattern.Lazy(`^[A-Za-z0-9_.]+( +[A-Za-z0-9_.]+)+$`)

// oneValue warns of a parameter whose values most likely lack their commas.
func (r *reader) oneValue(n node, p space.Parameter) {
	if p.Type != space.TypeEnum || len(p.Values) != 1 {
		return
	}
	if text, ok := p.Values[0].Any().(string); ok && plainWords().MatchString(text) {
		r.warn(valueOf(n, "values"), "%q is one value: values have commas between them, as in [%s]", text, strings.Join(strings.Fields(text), ", "))
	}
}

func isText(v space.Value) bool { _, ok := v.Any().(string); return ok }

// valueOf returns the node of a field's value, or of the mapping where the field is missing.
func valueOf(n node, name string) node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return node{resolve(n.Content[i+1]), n.child(name)}
		}
	}
	return n
}

// checkSpace makes the space with the constants as parameters of one value, so that expressions are checked exactly as written.
func (r *reader) checkSpace(f *fields, d *definition, ns *names, constraints []node) bool {
	if len(d.space.parameters) == 0 {
		at := f.position("parameters")
		if !slices.ContainsFunc(r.faults, func(other Fault) bool { return other.Field == at.path }) {
			r.fault(at, "want at least one parameter, as in [{name: tile, type: pow2, from: 1, to: 8}]")
		}
		return false
	}
	params := constantParameters(d.shape)
	if _, err := space.New(d.space.name, append(slices.Clone(params), d.space.parameters...), d.space.constraints...); err == nil {
		return r.meansNumbers(ns, constraints)
	}
	before := len(r.faults)
	bare := slices.Clone(params)
	for i, p := range d.space.parameters {
		p.When = ""
		if _, err := space.New(d.space.name, append(slices.Clone(bare), p)); err != nil {
			r.spaceFault(ns.nodes[i], "", err)
			continue
		}
		bare = append(bare, p)
	}
	if len(r.faults) > before {
		return false // conditions may name a wrong parameter
	}
	params = append(params, d.space.parameters...)
	r.checkConditions(params, ns)
	if len(r.faults) > before {
		return false // constraints may name a wrong parameter
	}
	for _, c := range constraints {
		if _, err := space.New(d.space.name, params, c.Value); err != nil {
			r.spaceFault(c, "", err)
		}
	}
	if len(r.faults) == before {
		_, err := space.New(d.space.name, params, d.space.constraints...)
		r.spaceFault(f.position("constraints"), "", err)
	}
	return false
}

// meansNumbers reports numbers that are no comparisons in conditions and constraints, as the file has them.
func (r *reader) meansNumbers(ns *names, constraints []node) bool {
	fine := true
	for i, p := range ns.parameters {
		if err := space.LoneNumber(p.When); err != nil {
			r.spaceFault(ns.nodes[i], "when", err)
			fine = false
		}
	}
	for _, c := range constraints {
		if err := space.LoneNumber(c.Value); err != nil {
			r.spaceFault(c, "", err)
			fine = false
		}
	}
	return fine
}

// checkConditions reports the conditions that are wrong. The last parameters have the nodes of ns.
func (r *reader) checkConditions(params []space.Parameter, ns *names) {
	params = slices.Clone(params)
	for i, n := range ns.nodes {
		own := len(params) - len(ns.nodes) + i
		alone := slices.Clone(params)
		for j := own + 1; j < len(alone); j++ {
			alone[j].When = ""
		}
		if _, err := space.New("", alone); err == nil {
			continue
		}
		// The error may be about what later conditions say.
		if _, err := space.New("", params); err != nil {
			r.spaceFault(n, "when", err)
		}
		params[own].When = ""
	}
}

// constantParameters returns the constants, at their defaults, as parameters.
func constantParameters(shape []kernels.Field) []space.Parameter {
	var out []space.Parameter
	for _, f := range shape {
		v, _ := strconv.Atoi(f.Default)
		out = append(out, space.Range(f.Name, v, v))
	}
	return out
}

// spacePrefix is the place that package space puts into its errors; the position in the file says it better.
var spacePrefix = pattern.Lazy(`^space "(?:[^"\\]|\\.)*": (?:(?:parameter (?:"(?:[^"\\]|\\.)*"|\d+)|constraint \d+): )?`)

// spaceFault reports an error of package space about a node. For an error in an expression, the position is inside the node's
// field.
func (r *reader) spaceFault(n node, name string, err error) {
	if bad, ok := errors.AsType[*space.ExprError](err); ok {
		if name != "" {
			n = valueOf(n, name)
		}
		if text := space.Anchored(n.Node); text != "" {
			r.fault(n, "%s", text)
			return
		}
		r.faultInside(n, offsetOf(bad.Expr, bad.Column), "%s", bad.Reason)
		return
	}
	r.fault(n, "%s", strings.ReplaceAll(spacePrefix().ReplaceAllString(err.Error(), ""), "\n", " "))
}

// missingField matches what begins an error of package space about a field that a parameter lacks.
var missingField = pattern.Lazy(`^(type|from|to|steps|values): `)

var spaceLine = pattern.Lazy(`^line (\d+): `)

// locate finds the position of an error of package space, which names lines, in a node: the scalar on that line that the error
// names, or else the first node there.
func (r *reader) locate(n node, err error) Fault {
	text := err.Error()
	at := r.at(n, "%s", text)
	m := spaceLine().FindStringSubmatch(text)
	if m == nil {
		return at
	}
	text = text[len(m[0]):]
	at.Text = text
	line, _ := strconv.Atoi(m[1])
	if n.Kind != yaml.MappingNode {
		return at
	}
	first := true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		named := ""
		switch {
		case strings.HasPrefix(text, key.Value+": "):
			named, text = key.Value, strings.TrimPrefix(text, key.Value+": ")
			if value.Line != line {
				value = key
			}
		case strings.Contains(text, strconv.Quote(key.Value)):
			named, value = key.Value, key
		}
		if named != "" {
			return Fault{File: r.file, Line: value.Line, Column: value.Column, Field: n.child(named), Text: text}
		}
		if first && value.Line == line {
			at.Line, at.Column, first = value.Line, value.Column, false
		}
	}
	if m := missingField().FindStringSubmatch(text); m != nil {
		return Fault{File: r.file, Line: n.Line, Column: n.Column, Field: n.child(m[1]), Text: text[len(m[0]):]}
	}
	return at
}

// make returns the space at a shape, with further parameters before those of the file.
func (d definedSpace) make(constants map[string]int, more ...space.Parameter) (*space.Space, error) {
	params := slices.Clone(more)
	for _, p := range d.parameters {
		p.When = space.Bind(p.When, constants)
		params = append(params, p)
	}
	var constraints []string
	for _, c := range d.constraints {
		constraints = append(constraints, space.Bind(c, constants))
	}
	return space.New(d.name, params, constraints...)
}

// tuned is make for the space of a search, which needs a parameter that varies at all: where the conditions of all parameters are false, its
// only point has no value.
func (d definedSpace) tuned(constants map[string]int, more ...space.Parameter) (*space.Space, error) {
	sp, err := d.make(constants, more...)
	if err == nil && sp.Default().Key() == "" {
		first := d.parameters[0]
		return nil, fmt.Errorf("space.parameters: no parameter is active: %s, the condition of %s, is false here: change the shape, or remove a condition (when)", first.When, first.Name)
	}
	return sp, err
}
