package user

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// linkedSpec is a source whose code takes fields of the shape as dimensions, so that programs can call it at any shape. The others are
// compiled in.
type linkedSpec struct {
	*sourceSpec
	linkage  native.Linkage
	free     []string // the fields that calls give, in the order of the dimensions
	features []string // the flags that stand for -march=native
}

var (
	_ native.Spec        = (*linkedSpec)(nil)
	_ native.Varier      = (*linkedSpec)(nil)
	_ native.Batcher     = (*linkedSpec)(nil)
	_ native.CaseClasser = (*linkedSpec)(nil)
)

// Linked returns the problem whose code programs can call at any shape. The error says what in the file stands against it, and what
// helps.
func (p *SourceProblem) Linked() (*native.Problem, native.Linkage, bool, error) {
	spec, err := newLinked(p.spec)
	if err != nil {
		return nil, native.Linkage{}, true, err
	}
	made, err := native.New(spec, native.Options{Host: spec.host, Limits: spec.limits, CompileTime: spec.s.limits.compile})
	if err != nil {
		return nil, native.Linkage{}, true, err
	}
	return made.(*native.Problem), spec.linkage, true, nil
}

func newLinked(spec *sourceSpec) (*linkedSpec, error) {
	l := &linkedSpec{sourceSpec: spec}
	s := spec.s
	fault := func(field, format string, args ...any) error {
		return fmt.Errorf("%s: source.%s: %s", spec.path, field, fmt.Sprintf(format, args...))
	}
	switch {
	case s.reference.outputs != nil:
		return nil, fault("reference", "a library needs a form of the function that is right at every shape: compare with a function instead of files of outputs")
	}
	machine, err := spec.host.Machine()
	if err != nil {
		return nil, err
	}
	l.features = append(cgen.FeatureFlags(machine), "-mtune=native")
	l.divide()
	if len(l.free) == 0 {
		why := "its shape has no fields"
		if f := l.linkage.Fixed; len(f) > 0 {
			why = fmt.Sprintf("of %s, %s", f[0].Name, f[0].Why)
		}
		return nil, fault("arguments", "no field of the shape is one that a call can give: %s. Give the function the sizes as scalar arguments", why)
	}
	if err := l.describe(); err != nil {
		return nil, err
	}
	return l, nil
}

// divide decides which fields calls give. A field is free where a scalar argument carries it to the function, and nothing that is
// compiled names it.
func (l *linkedSpec) divide() {
	compiled := map[string]string{}
	name := func(t template, where string) {
		for _, m := range t.names() {
			compiled[m.name] = cmp.Or(compiled[m.name], where)
		}
	}
	if !l.s.define {
		name(l.s.text, "the source has {{%s}} in its text")
	}
	for _, t := range append(l.s.templates()[1:], l.s.reference.flags...) {
		name(t, "the compiler flags name %s")
	}
	if !l.s.threads.IsZero() {
		for _, m := range l.s.threads.names() {
			compiled[m.name] = cmp.Or(compiled[m.name], "threads names %s")
		}
	}
	carried := map[string]bool{}
	for _, a := range l.s.arguments {
		if a.scalar {
			for _, m := range a.value.names() {
				carried[m.name] = true
			}
		}
	}
	for _, f := range l.info.Shape {
		switch why := compiled[f.Name]; {
		case why != "":
			l.linkage.Fixed = append(l.linkage.Fixed, native.FixedField{Name: f.Name, Why: fmt.Sprintf(why, f.Name)})
		case !carried[f.Name]:
			l.linkage.Fixed = append(l.linkage.Fixed, native.FixedField{Name: f.Name, Why: "no argument of the function carries it"})
		default:
			l.free = append(l.free, f.Name)
			l.linkage.Dims = append(l.linkage.Dims, l.dim(f))
		}
	}
}

// dim describes a field that calls give. An argument bounds it by its type.
func (l *linkedSpec) dim(f kernels.Field) native.Dim {
	d := native.Dim{Name: f.Name, About: f.Doc, Least: int64(max(f.Min, 0)), Most: int64(f.Max)}
	if d.About == "" {
		d.About = "a size"
	}
	for _, a := range l.s.arguments {
		if a.scalar && !floating(a.ctype.elem) && a.value.String() == f.Name {
			_, high := wholeRange(a.ctype.elem)
			d.Most = min(d.Most, int64(high))
		}
	}
	return d
}

// variables returns the names that C has for the free fields.
func (l *linkedSpec) variables(text func(i int) string) map[string]space.CName {
	out := map[string]space.CName{}
	for i, d := range l.linkage.Dims {
		out[d.Name] = space.CName{Text: text(i), Positive: d.Least > 0}
	}
	return out
}

// named is how the fields are called in code outside of the kernel.
func (l *linkedSpec) named() map[string]space.CName {
	return l.variables(func(i int) string { return l.free[i] })
}

// describe fills in the rest of the linkage.
func (l *linkedSpec) describe() error {
	k := &l.linkage
	k.About, k.Foreign = l.info.Doc, true
	for i, a := range l.s.arguments {
		fault := func(field string, err error) error {
			r := &reader{file: l.path}
			r.fault(valueOf(a.node, field), "%v", err)
			return r.faults
		}
		if a.scalar {
			if err := l.independent(a.value); err != nil {
				return fault("value", err)
			}
			if _, err := a.value.C(l.named(), pointValues(space.Point{}, l.constants)); err != nil {
				return fault("value", err)
			}
			continue
		}
		extent, err := l.extent(a)
		if err != nil {
			return fault("length", err)
		}
		content, err := l.content(i)
		if err != nil {
			return fault("fill", err)
		}
		constant := ""
		if a.mode == native.In {
			constant = "const "
		}
		about := map[native.Mode]string{native.In: "", native.Out: ", written", native.InOut: ", read and written"}[a.mode]
		k.Buffers = append(k.Buffers, native.Argument{Name: a.name, Type: constant + a.ctype.elem.C() + " *", About: a.length.String() + " elements" + about})
		k.Extents, k.Contents = append(k.Extents, extent), append(k.Contents, content)
	}
	program, language := l.referenceProgram(l.standard.point)
	k.Plain = native.Source{
		Lang: language, Text: l.unit(program, language, l.s.reference.function, 1), Compiler: l.standard.compiler, Flags: l.portable(l.standard.flags), Threads: 1,
	}
	return nil
}

// independent returns an error where an expression names a parameter. Variants have to compute the same, from the same arrays.
func (l *linkedSpec) independent(e expr) error {
	for _, m := range e.names() {
		if !slices.ContainsFunc(l.info.Shape, func(f kernels.Field) bool { return f.Name == m.name }) {
			return fmt.Errorf("%s names the parameter %s, so that two variants would be called differently: name fields of the shape only", e, m.name)
		}
	}
	return nil
}

// extent describes the length of a buffer.
func (l *linkedSpec) extent(a argument) (native.Extent, error) {
	if err := l.independent(a.length); err != nil {
		return native.Extent{}, err
	}
	text, err := a.length.C(l.named(), pointValues(space.Point{}, l.constants))
	if err != nil {
		return native.Extent{}, err
	}
	count := func(dims []int64) int64 {
		n, err := a.length.whole(pointValues(space.Point{}, l.shapeOf(dims)), 0, maxBuffers)
		if err != nil {
			return 0
		}
		return n
	}
	return native.Extent{Length: "(int64_t)" + text, Count: count}, nil
}

// shapeOf returns all constants of the shape with the given dimensions.
func (l *linkedSpec) shapeOf(dims []int64) map[string]int {
	out := maps.Clone(l.constants)
	for i, name := range l.free {
		out[name] = int(dims[i])
	}
	return out
}

// dims returns the dimensions of a shape.
func (l *linkedSpec) dims(constants map[string]int) []int64 {
	out := make([]int64, len(l.free))
	for i, name := range l.free {
		out[i] = int64(constants[name])
	}
	return out
}

// content says what a buffer holds.
func (l *linkedSpec) content(i int) (native.Content, error) {
	a := l.s.arguments[i]
	out := native.Content{Updated: a.mode == native.InOut, Tolerance: native.Tolerance{Absolute: a.tolerance.absolute, Relative: a.tolerance.relative}}
	if a.mode == native.Out {
		return out, nil
	}
	low, high := a.fill.low, a.fill.high
	switch a.fill.kind {
	case fillFile:
		return out, fmt.Errorf("the file %s has one length, and the self-test draws other shapes: fill it at random", a.fill.name)
	case fillConstant:
		low, high = a.fill.constant, a.fill.constant
	}
	for _, e := range []struct {
		expr expr
		to   *string
	}{{low, &out.Low}, {high, &out.High}} {
		if err := l.independent(e.expr); err != nil {
			return out, err
		}
		text, err := e.expr.C(l.named(), pointValues(space.Point{}, l.constants))
		if err != nil {
			return out, err
		}
		*e.to = text
	}
	out.Whole = a.fill.integers || !floating(a.ctype.elem)
	return out, nil
}

// lineDirective matches what names places in the user's files, which a library does not have.
var lineDirective = pattern.Lazy(`(?m)^#line [0-9]+( ".*")?\n`)

// unit returns the translation unit that calls a function: buffers in args, the free fields in dims.
func (l *linkedSpec) unit(pr program, language, function string, threads int) string {
	var w cgen.Writer
	w.Text(unitHead(pr.body) + pr.header + lineDirective().ReplaceAllString(pr.body+"\n", ""))
	w.Func("%svoid tune_kernel(void *const *tune_args, const int64_t *tune_dims)", linkageOf(language))
	inside := l.variables(func(i int) string { return fmt.Sprintf("tune_dims[%d]", i) })
	var words []string
	buffers := 0
	for _, a := range l.s.arguments {
		if a.scalar {
			text, err := a.value.C(inside, pointValues(space.Point{}, l.constants))
			if err != nil {
				panic(err) // describe has tried it
			}
			words = append(words, fmt.Sprintf("(%s)%s", a.ctype.c, text))
			continue
		}
		constant := ""
		if a.mode == native.In {
			constant = "const "
		}
		words = append(words, fmt.Sprintf("(%s%s *)tune_args[%d]", constant, a.ctype.c, buffers))
		buffers++
	}
	// By default OpenMP would use every core. The program that calls the library keeps its own setting.
	w.Line("#ifdef _OPENMP")
	w.Line("const int tune_threads = omp_get_max_threads();")
	w.Line("omp_set_num_threads(%d);", threads)
	w.Line("#endif")
	w.Line("%s(%s);", function, strings.Join(words, ", "))
	w.Line("#ifdef _OPENMP")
	w.Line("omp_set_num_threads(tune_threads);")
	w.Line("#endif")
	w.Line("(void)tune_args; (void)tune_dims;")
	w.Close()
	return w.String()
}

// unwanted matches flags that decide which symbols an object has, and how it is linked. A library decides that itself.
var unwanted = pattern.Lazy(`^(-s|-flto.*|-fvisibility=.*|-Wl,-s|-Wl,-Bsymbolic)$`)

// linkable returns flags for code of a library: it names the features of the processor that it needs.
func (l *linkedSpec) linkable(flags []string) []string {
	var out []string
	for _, f := range flags {
		switch {
		case unwanted().MatchString(f):
		case f == "-march=native":
			out = append(out, l.features...)
		default:
			out = append(out, f)
		}
	}
	return append(out, ownSymbols...)
}

// portable returns flags for code that runs on every processor.
func (l *linkedSpec) portable(flags []string) []string {
	return l.linkable(slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.HasPrefix(f, "-m") }))
}

// Generate inserts the values of a point into the source.
func (l *linkedSpec) Generate(p space.Point) (native.Source, error) {
	src, err := l.sourceSpec.Generate(p)
	if err != nil {
		return src, err
	}
	if src.Takes, err = l.takes(p); err != nil {
		return src, err
	}
	src.Text = l.unit(l.s.program(l.s.text, l.s.name, p, l.constants), src.Lang, l.s.function, src.Threads)
	src.Flags, src.Header, src.Call = l.linkable(l.s.flagsOf(p, l.constants)), "", nil
	return src, nil
}

// takes writes the condition on which a point is one of the shape of a call: its constraints hold, and the same parameters are active.
func (l *linkedSpec) takes(p space.Point) (string, error) {
	var all []string
	of := pointValues(p, l.constants)
	add := func(text, where string, may bool) error {
		f, err := space.ParseFormula(text)
		if err != nil {
			return err
		}
		condition, always, err := f.Condition(l.named(), of, may)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.path, where, err)
		}
		if !always {
			all = append(all, condition)
		}
		return nil
	}
	for _, text := range l.defined.constraints {
		if err := add(text, "space.constraints", true); err != nil {
			return "", err
		}
	}
	for _, parameter := range l.defined.parameters {
		text, may := parameter.When, false
		if text == "" {
			continue
		}
		if !p.Active(parameter.Name) {
			text, may = "not ("+text+")", true
		}
		if err := add(text, "the condition of parameter "+parameter.Name, may); err != nil {
			return "", err
		}
	}
	return strings.Join(all, " && "), nil
}

// Cases returns the problems that a point's code is checked on. Shapes of the file that differ in what is compiled in are left out.
func (l *linkedSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	calls, err := l.calls(p)
	if err != nil {
		return nil, err
	}
	cases, err := l.sourceSpec.Cases(ctx, p, seed)
	if err != nil {
		return nil, err
	}
	var out []native.Case
	for i, one := range cases {
		same := func(f native.FixedField) bool { return calls[i].constants[f.Name] == l.constants[f.Name] }
		if slices.ContainsFunc(l.linkage.Fixed, func(f native.FixedField) bool { return !same(f) }) {
			continue
		}
		one.Dims = l.dims(calls[i].constants)
		out = append(out, one)
	}
	return out, nil
}

// Variant returns the asked shape with the inputs of a seed.
func (l *linkedSpec) Variant(ctx context.Context, p space.Point, seed uint64) (native.Case, error) {
	cases, err := l.Variants(ctx, p, []uint64{seed})
	if err != nil {
		return native.Case{}, err
	}
	return cases[0], nil
}

// Variants returns the variants of several seeds.
func (l *linkedSpec) Variants(ctx context.Context, p space.Point, seeds []uint64) ([]native.Case, error) {
	cases, err := l.sourceSpec.Variants(ctx, p, seeds)
	for i := range cases {
		cases[i].Dims = l.dims(l.constants)
	}
	return cases, err
}

// Narrowed returns a variant whose random inputs come from a part of their range.
func (l *linkedSpec) Narrowed(ctx context.Context, p space.Point, seed uint64) (native.Case, bool, error) {
	c, ok, err := l.sourceSpec.Narrowed(ctx, p, seed)
	c.Dims = l.dims(l.constants)
	return c, ok, err
}
