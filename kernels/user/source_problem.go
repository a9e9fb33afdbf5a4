package user

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/worker"
	"tune/space"
)

// sourceSpec is a kernel in C or C++ at one shape, for package native.
type sourceSpec struct {
	s         *source
	space     *space.Space
	presets   []kernels.Preset
	host      *native.Host
	path      string // of the kernel's file
	constants map[string]int
	// shapes are all shapes that candidates are checked on, the asked one first, each with the space of the points that exist
	// there.
	shapes []checkShape
	asked  call // at the asked shape, for its first point
	work   native.Work
	limits worker.Limits
	info   kernels.Info
	// defined is the space of all shapes.
	defined definedSpace
	// standard is how the reference is built.
	standard standard
	// compilers are those that only this kernel names.
	compilers []cc.Compiler

	mu    sync.Mutex
	built string // the path of the compiled reference; "" before it is called
}

type checkShape struct {
	constants map[string]int
	space     *space.Space
}

var (
	_ native.Spec        = (*sourceSpec)(nil)
	_ native.Varier      = (*sourceSpec)(nil)
	_ native.Batcher     = (*sourceSpec)(nil)
	_ native.CaseClasser = (*sourceSpec)(nil)
	_ native.Sizer       = (*sourceSpec)(nil)
)

// newSourceProblem makes the problem of a source at a shape.
func newSourceProblem(k *Kernel, constants map[string]int) (kernels.Problem, error) {
	spec, err := newSpec(k, constants)
	if err != nil {
		return nil, err
	}
	p, err := native.New(spec, native.Options{Host: spec.host, Limits: spec.limits, CompileTime: spec.s.limits.compile})
	if err != nil {
		return nil, err
	}
	return &SourceProblem{Problem: p.(*native.Problem), spec: spec}, nil
}

// SourceProblem is a native problem that also knows its file: it can be examined, and another point may become its baseline.
type SourceProblem struct {
	*native.Problem
	spec *sourceSpec

	mu       sync.Mutex
	baseline space.Point // where Settle has found one; zero before
	told     bool        // whether Telling found nothing
}

// Traits returns the traits of the native problem, with those that the file decides: checking, Examine and the baseline.
func (p *SourceProblem) Traits() kernels.Traits {
	t := p.Problem.Traits()
	t.Checking, t.Weak, t.Baselines, t.Settle, t.Peers = p.checking(), p.weak, p.baselines, p.Settle, p.peers
	t.Examine = func(ctx context.Context) error {
		if err := p.Examine(ctx); err != nil {
			return err
		}
		return p.Telling(ctx)
	}
	return t
}

// Examine compares the arguments of the file with the functions that they are for. Errors are Faults.
func (p *SourceProblem) Examine(ctx context.Context) error { return p.spec.Examine(ctx) }

// checking says whether checks have different inputs.
func (p *SourceProblem) checking() kernels.Checking {
	if p.spec.s.fixed(p.spec.asked) {
		return kernels.FixedInput
	}
	return kernels.FreshInputs
}

// Reference returns what the results are compared with.
func (p *SourceProblem) Reference() Reference { return p.spec.Reference() }

func newSpec(k *Kernel, constants map[string]int) (*sourceSpec, error) {
	s := k.d.source
	more, names, own, err := k.compilerChoice()
	if err != nil {
		return nil, err
	}
	spec := &sourceSpec{s: s, path: k.path, constants: constants, info: k.Info(), defined: k.d.space, compilers: own}
	all := []map[string]int{constants}
	for _, shape := range s.reference.shapes {
		merged := map[string]int{}
		for name, v := range constants {
			merged[name] = v
		}
		for name, v := range shape {
			merged[name] = v
		}
		all = append(all, merged)
	}
	for i, shape := range all {
		make := k.d.space.make
		if i == 0 {
			make = k.d.space.tuned
		}
		sp, err := make(shape, more...)
		if err != nil && i > 0 {
			continue // no point exists at this shape
		}
		if err != nil {
			return nil, fmt.Errorf("at the shape %s: %w", shapeName(shape), err)
		}
		spec.shapes = append(spec.shapes, checkShape{shape, sp})
	}
	spec.space = spec.shapes[0].space
	spec.presets = k.d.space.presets(spec.space)
	if spec.work, err = s.work(constants); err != nil {
		return nil, err
	}
	for i, shape := range spec.shapes {
		c, err := s.shapeCase(shape.space.Default(), shape.constants)
		if err == nil {
			err = s.room(c)
		}
		if err != nil {
			return nil, spec.faultAt(err, i > 0, shape.constants)
		}
		if i > 0 {
			continue
		}
		spec.asked = c
		// The file is read at its default shape; at this one the inputs may be others.
		if text := s.unnoticed(c); text != "" && k.saved == nil {
			return nil, fmt.Errorf("at the shape %s: source.arguments: %s", c.name, text)
		}
	}
	if spec.standard, err = s.standardOf(k.d.space, constants, names); err != nil {
		return nil, err
	}
	spec.limits = worker.Limits{Wall: s.limits.call, CPU: s.limits.call, Memory: s.limits.memory}
	if spec.host, err = k.hostWith(own); err != nil {
		return nil, err
	}
	return spec, nil
}

// compilerChoice returns the parameter for the choice among compilers, if the source has one, and those compilers of the file that are
// installed.
//
// own are those among them that the host does not find.
func (k *Kernel) compilerChoice() (more []space.Parameter, names []string, own []cc.Compiler, err error) {
	s := k.d.source
	if len(s.compilers) == 0 {
		return nil, nil, nil, nil
	}
	if names, own, err = k.installed(); err != nil || !s.choosesCompiler() {
		return nil, names, own, err
	}
	return []space.Parameter{space.Enum(compilerParameter, names...).Describe("the compiler")}, names, own, nil
}

// faultAt says where in the file the argument stands that an error is about. A further shape, at which candidates are checked too, is
// named.
func (s *sourceSpec) faultAt(err error, further bool, constants map[string]int) error {
	a, ok := errors.AsType[*argumentError](err)
	if _, large := errors.AsType[*native.RoomError](err); large || !ok {
		return s.s.explain(err) // which the machine decides, not the file
	}
	r := &reader{file: s.path}
	at := "at the shape %s: %v"
	if further {
		at = "at the shape %s of the reference: %v"
	}
	r.fault(valueOf(s.s.arguments[a.index].node, a.field), at, shapeName(constants), a.err)
	return r.faults
}

// explain names the argument that an error is about.
func (s *source) explain(err error) error {
	if a, ok := errors.AsType[*argumentError](err); ok {
		return fmt.Errorf("argument %s: %s: %w", s.arguments[a.index].name, a.field, a.err)
	}
	return err
}

// Space returns the points at the asked shape.
func (s *sourceSpec) Space() *space.Space { return s.space }

// Sizes returns the buffers of the asked shape, and the bytes that are kept of them for each seed.
func (s *sourceSpec) Sizes() ([]native.Buffer, int64) { return s.asked.buffers, s.asked.kept() }

// Presets returns the baseline, and the start points of the file.
func (s *sourceSpec) Presets() []kernels.Preset { return slices.Clone(s.presets) }

// Work describes one call.
func (s *sourceSpec) Work() native.Work { return s.work }

// Generate inserts the values of a point into the source.
func (s *sourceSpec) Generate(p space.Point) (native.Source, error) {
	threads, err := s.s.threadsOf(p, s.constants)
	if err != nil {
		return native.Source{}, err
	}
	if err := computable(s.s.templates(), pointValues(p, s.constants)); err != nil {
		return native.Source{}, kernels.Reject(space.Invalid, "%v", err)
	}
	pr := s.s.program(s.s.text, s.s.name, p, s.constants)
	return native.Source{
		Lang: s.s.language, Text: s.s.unit(pr, s.s.language, s.s.function, threads), Compiler: s.s.compilerOf(p),
		Flags: append(s.s.flagsOf(p, s.constants), ownSymbols...), Threads: threads, Header: s.header(p, pr), Call: s.call(p),
	}, nil
}

// scalar says in the header of an export what a scalar argument is: its type, whether it is a constant of the shape, a parameter or something
// else, the value that it was tuned with, and whether it has to be that value.
func (s *sourceSpec) scalar(p space.Point, a argument) string {
	x, err := a.value.number(pointValues(p, s.constants))
	if err != nil {
		return a.ctype.c // and the kernel cannot be called at this point
	}
	value, from := strconv.FormatFloat(x, 'g', -1, 64), a.value.String()
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		value = strconv.FormatFloat(x, 'f', -1, 64)
	}
	about, tuned := from, ", tuned with "+value
	if _, is := s.constants[from]; is {
		about = fmt.Sprintf("the constant %s of the shape", from)
	}
	if baked := s.baked(a); baked != "" {
		tuned = fmt.Sprintf(", which has to be %s: the source or a flag contains {{%s}}", value, baked)
	}
	about += tuned
	if len(a.value.names()) == 0 {
		about = "always " + value
	}
	for _, parameter := range s.space.Parameters() {
		if parameter.Name == from {
			about = fmt.Sprintf("the parameter %s, which has to be %s (tried: %s)", from, value, domain(parameter))
		}
	}
	return a.ctype.c + ", " + about
}

// baked returns a constant of the shape that the value of a scalar argument depends on, and that is compiled in: the function is right for no
// other value of it. It returns "" where there is none.
func (s *sourceSpec) baked(a argument) string {
	for _, m := range a.value.names() {
		if _, is := s.constants[m.name]; is && s.s.compiles(m.name) {
			return m.name
		}
	}
	return ""
}

// domain says in words which values a parameter has.
func domain(p space.Parameter) string {
	if len(p.Values) == 0 {
		return fmt.Sprintf("%d to %d", p.From, p.To)
	}
	const most = 8
	var texts []string
	for _, v := range p.Values[:min(len(p.Values), most)] {
		texts = append(texts, valueText(v))
	}
	if len(p.Values) > most {
		texts = append(texts, "…", valueText(p.Values[len(p.Values)-1]))
	}
	return strings.Join(texts, ", ")
}

// call says how programs call the function at a point.
func (s *sourceSpec) call(p space.Point) *native.Call {
	out := &native.Call{Function: s.s.function}
	buffers := 0
	for _, a := range s.s.arguments {
		if a.scalar {
			out.Arguments = append(out.Arguments, native.Argument{Name: a.name, Type: a.ctype.c, About: s.scalar(p, a)})
			continue
		}
		b := s.asked.buffers[buffers]
		buffers++
		constant := ""
		if a.mode == native.In {
			constant = "const "
		}
		out.Arguments = append(out.Arguments, native.Argument{Name: a.name, Type: constant + a.ctype.c + " *", About: plain.Count(b.Len, "element") + ", " + b.Mode.String() + ", " + native.AlignedWhenMeasured})
	}
	return out
}

// header returns the C header of a point: its values as #defines.
func (s *sourceSpec) header(p space.Point, pr program) string {
	defines := pr.header
	if !s.s.define {
		var b strings.Builder
		for _, parameter := range s.space.Parameters() {
			if v, ok := p.Value(parameter.Name); ok && parameter.Name != compilerParameter {
				fmt.Fprintf(&b, "#define %s %s\n", parameter.Name, valueText(v))
			}
		}
		defines = b.String()
	}
	guard := "TUNE_" + strings.ToUpper(strings.Map(func(r rune) rune {
		if r < 128 && (isLetter(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return '_'
	}, s.info.Name)) + "_H"
	return fmt.Sprintf("/*\n * The values that tune chose for %s%s.\n * Compiler: %s\n */\n#ifndef %s\n#define %s\n\n%s\n#endif\n",
		s.info.Name, atShape(s.constants), strings.TrimSpace(s.s.compilerOf(p)+" "+strings.Join(s.s.flagsOf(p, s.constants), " ")), guard, guard, defines)
}

func atShape(constants map[string]int) string {
	if len(constants) == 0 {
		return ""
	}
	return " at " + shapeName(constants)
}

// calls returns the calls of a point at each shape where the point exists.
func (s *sourceSpec) calls(p space.Point) ([]call, error) {
	var out []call
	for i, shape := range s.shapes {
		if i > 0 {
			if _, err := shape.space.Parse(p.Key()); err != nil {
				continue // a constraint excludes it there
			}
		}
		c, err := s.s.shapeCase(p, shape.constants)
		if err != nil {
			return nil, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
		}
		out = append(out, c)
	}
	return out, nil
}

// CaseClass identifies the calls of a point: points with the same lengths and scalars share inputs and references.
func (s *sourceSpec) CaseClass(p space.Point) string {
	calls, err := s.calls(p)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "%s %d", c.name, c.dims)
		for i, buffer := range c.buffers {
			fmt.Fprintf(&b, " %d", buffer.Len)
			if a := s.s.arguments[c.index[i]]; a.mode != native.Out {
				for _, e := range []expr{a.fill.low, a.fill.high, a.fill.constant} {
					if !e.IsZero() {
						v, err := e.number(c.values)
						fmt.Fprintf(&b, " %v %v", v, err)
					}
				}
			}
		}
		b.WriteByte(';')
	}
	return b.String()
}

// Cases draws the inputs of a point's calls and lets the reference compute the expected results.
func (s *sourceSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	calls, err := s.calls(p)
	if err != nil {
		return nil, err
	}
	cases := make([]native.Case, len(calls))
	for i, c := range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		inputs, err := s.s.inputs(c, seed, true)
		if err != nil {
			return nil, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
		}
		cases[i] = native.Case{Name: c.label, Dims: c.dims, Buffers: c.buffers, Inputs: inputs}
	}
	want, err := s.expected(ctx, calls, cases)
	if ended := ctx.Err(); err != nil && ended != nil {
		return nil, ended
	}
	if err != nil {
		// A fault of the reference is not the candidate's, so a rejection must not be returned.
		return nil, s.referenceError(err)
	}
	for i, c := range calls {
		cases[i].Unwritten = want[i].lacks()
		cases[i].Verify = func(buffers [][]byte) (kernels.Deviation, error) { return s.s.verify(c, buffers, want[i]) }
	}
	return cases, nil
}

// Variant returns the asked shape with the inputs of a seed, for timed calls. Inputs that the file does not draw, but takes from
// constants and files, may vary (variationOf). The outputs stated in the file do not apply then; only two calls of a candidate on
// the same inputs can be compared.
func (s *sourceSpec) Variant(ctx context.Context, p space.Point, seed uint64) (native.Case, error) {
	cases, err := s.Variants(ctx, p, []uint64{seed})
	if err != nil {
		return native.Case{}, err
	}
	return cases[0], nil
}

// Variants returns the variants of several seeds. One process calls the reference on all of them, and only once on inputs that come again.
func (s *sourceSpec) Variants(ctx context.Context, p space.Point, seeds []uint64) ([]native.Case, error) {
	c, err := s.s.shapeCase(p, s.constants)
	if err != nil {
		return nil, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
	}
	cases := make([]native.Case, len(seeds))
	same := make([]int, len(seeds)) // which of distinct has the inputs
	var distinct []native.Case
	varied := make([][]string, len(seeds))
	for k, seed := range seeds {
		var inputs [][]byte
		if inputs, varied[k], err = s.draw(c, seed); err != nil {
			return nil, err
		}
		one := native.Case{Name: c.label, Dims: c.dims, Buffers: c.buffers, Inputs: inputs}
		if same[k] = slices.IndexFunc(distinct, func(d native.Case) bool { return slices.EqualFunc(d.Inputs, inputs, bytes.Equal) }); same[k] < 0 {
			same[k], distinct = len(distinct), append(distinct, one)
		}
		one.Tolerant = true
		one.Agree = func(_ int, got, want [][]byte) error {
			_, err := s.s.compareAll(c, got, want)
			return err
		}
		one.Verify = func([][]byte) (kernels.Deviation, error) { return kernels.Deviation{}, nil }
		one.With, one.Loose = s.with(c)
		cases[k] = one
	}
	want, err := s.expected(ctx, slices.Repeat([]call{c}, len(distinct)), distinct)
	if ended := ctx.Err(); err != nil && ended != nil {
		return nil, ended
	}
	if i := slices.IndexFunc(varied, func(names []string) bool { return names != nil }); err != nil && i >= 0 {
		return nil, s.variedError(varied[i], err)
	}
	if err != nil {
		return nil, fmt.Errorf("the reference of kernel %s: %v", s.info.Name, err)
	}
	for k := range cases {
		if varied[k] != nil && s.s.reference.outputs != nil {
			continue // the stated outputs are of other inputs
		}
		expect := want[same[k]]
		cases[k].Unwritten = expect.lacks()
		cases[k].Verify = s.verifyVaried(c, expect, varied[k])
	}
	return cases, nil
}

// Narrowed returns a variant whose random inputs come from a part of their range. There is none where the file says so (vary: false in source),
// and where the reference fails on it, because it counts on what numbers of the whole range have in common.
func (s *sourceSpec) Narrowed(ctx context.Context, p space.Point, seed uint64) (native.Case, bool, error) {
	if s.s.asIs || s.s.reference.outputs != nil {
		return native.Case{}, false, nil
	}
	c, err := s.s.shapeCase(p, s.constants)
	if err != nil {
		return native.Case{}, false, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
	}
	inputs, _, err := s.draw(c, seed)
	if err != nil {
		return native.Case{}, false, err
	}
	names := s.s.narrowInputs(c, inputs, seed)
	if len(names) == 0 {
		return native.Case{}, false, nil
	}
	one := native.Case{Name: c.label, Dims: c.dims, Buffers: c.buffers, Inputs: inputs}
	want, err := s.expected(ctx, []call{c}, []native.Case{one})
	if err != nil {
		return native.Case{}, false, ctx.Err()
	}
	one.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		d, err := s.s.verify(c, buffers, want[0])
		if r := kernels.AsRejection(err); r != nil {
			err = kernels.Reject(r.Status, "%s. In this call %s from a part of the range in the file: write vary: false in source if the function need not be right for them",
				r.Reason, narrowedText(names))
		}
		return d, err
	}
	return one, true, nil
}

// variedError says that the reference fails where inputs vary.
func (s *sourceSpec) variedError(varied []string, err error) error {
	return fmt.Errorf("the reference of kernel %s, where %s as in timed calls (vary: false keeps the numbers as they are): %v",
		s.info.Name, variedText(varied), err)
}

// Draw returns the inputs of Variant.
func (s *sourceSpec) Draw(_ context.Context, p space.Point, seed uint64) ([][]byte, error) {
	c, err := s.s.shapeCase(p, s.constants)
	if err != nil {
		return nil, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
	}
	inputs, _, err := s.draw(c, seed)
	return inputs, err
}

// draw draws the inputs of a call, and returns the names of those that vary although the file does not draw them.
func (s *sourceSpec) draw(c call, seed uint64) (inputs [][]byte, varied []string, err error) {
	if inputs, err = s.s.inputs(c, seed, true); err != nil {
		return nil, nil, kernels.Reject(space.Invalid, "%v", s.s.explain(err))
	}
	return inputs, s.s.varyInputs(c, inputs, seed), nil
}

// VariantClass identifies the call at the asked shape, as CaseClass does.
func (s *sourceSpec) VariantClass(p space.Point) string { return s.CaseClass(p) }

func mapBuffers(w *worker.Worker, c native.Case) error {
	buffers := make([]worker.Buffer, len(c.Buffers))
	for i, b := range c.Buffers {
		mode := [...]worker.Mode{native.In: worker.In, native.Out: worker.Out, native.InOut: worker.InOut}[b.Mode]
		buffers[i] = worker.Buffer{Name: b.Name, Bytes: b.Bytes(), Mode: mode, Elem: b.Elem.Size()}
	}
	return w.Map(buffers, c.Inputs)
}
