package user

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/worker"
	"tune/space"
)

// strictFlags end the command line of a reference, so that they override whatever came before: no fused multiply-adds, and no
// other freedom with floating point.
var strictFlags = []string{"-O2", "-fno-fast-math", "-ffp-contract=off"}

// loose matches compiler flags that set a level of optimisation, or relax floating point.
var loose = pattern.Lazy(`^(-O.*` +
	`|-f(no-)?(fast-math|unsafe-math-optimizations|associative-math|reciprocal-math|finite-math-only|signed-zeros|trapping-math` +
	`|math-errno|rounding-math|signaling-nans|cx-limited-range|cx-fortran-rules|single-precision-constant|float-store` +
	`|approx-func|honor-nans|honor-infinities|strict-float-cast-overflow|protect-parens)` +
	`|-f(fp-contract|fp-model|fp-eval-method|fp-exception-behavior|excess-precision|denormal-fp-math|denormal-fp-math-f32|complex-arithmetic|cx-method)=.*` +
	`|-m(no-)?(fpmath|recip|daz-ftz|fused-madd|fp-ret-in-387)(=.*)?|-mpc(32|64|80)` +
	`|-menable-(unsafe-fp-math|no-infs|no-nans)|-mreassociate)$`)

// strict returns the flags for compiling reference code: those of flags that the code may need to compile (paths, definitions,
// the standard, instructions, libraries), and then strictFlags.
func strict(flags []string) []string {
	var out []string
	for _, f := range flags {
		if !loose().MatchString(f) {
			out = append(out, f)
			continue
		}
		if n := len(out); n > 0 && out[n-1] == "-Xclang" {
			out = out[:n-1] // it passed the flag on
		}
	}
	return append(out, strictFlags...)
}

// canonical returns the space with the values of each enum sorted, and without defaults. Its first point does not depend on the
// order in which a file lists values.
func (d definedSpace) canonical() definedSpace {
	d.parameters = slices.Clone(d.parameters)
	for i := range d.parameters {
		p := &d.parameters[i]
		p.Default = nil
		p.Values = slices.SortedFunc(slices.Values(p.Values), compareValues)
	}
	return d
}

// compareValues orders the values of an enum, which are all numbers, truth values or texts.
func compareValues(a, b space.Value) int {
	if x, isNumber := a.Number(); isNumber {
		y, _ := b.Number()
		return cmp.Compare(x, y)
	}
	return strings.Compare(valueText(a), valueText(b)) // false, which is 0, comes before true
}

// standard is how the reference of a source is built: the same for all points, and for every order of values.
type standard struct {
	point    space.Point // of the canonical space
	compiler string      // "" for the preferred one
	flags    []string
}

// standardOf returns how the reference is built at a shape: with the values that the file states for it, and for each other
// parameter, in order, the smallest value that a point has.
func (s *source) standardOf(d definedSpace, constants map[string]int, compilers []string) (standard, error) {
	var more []space.Parameter
	if s.choosesCompiler() {
		rank := func(name string) int {
			if i := slices.Index(cc.Names, name); i >= 0 {
				return i
			}
			return len(cc.Names)
		}
		names := slices.SortedFunc(slices.Values(compilers), func(a, b string) int {
			return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
		})
		more = append(more, space.Enum(compilerParameter, names...))
	}
	sp, err := d.canonical().make(constants, more...)
	if err != nil {
		return standard{}, err
	}
	if len(s.reference.parameters) > 0 {
		if sp, err = sp.Fix(s.reference.parameters); err != nil {
			return standard{}, fmt.Errorf("no point has the values of reference.parameters: %w", err)
		}
	}
	point := sp.Default()
	flags := s.templates()[1:] // without the source
	if s.reference.flagsGiven {
		flags = s.reference.flags
	}
	if err := computable(flags, pointValues(point, constants)); err != nil {
		return standard{}, &referenceFlagsError{fmt.Errorf("a flag of the reference has no value with %s, the values that it is compiled with: %w", point.Key(), err)}
	}
	return s.standardAt(point, s.compilerOf(point), constants), nil
}

// referenceFlagsError says that the flags of a reference cannot be computed.
type referenceFlagsError struct{ error }

// standardAt returns how the reference would be built with the values of a point.
func (s *source) standardAt(p space.Point, compiler string, constants map[string]int) standard {
	if s.reference.flagsGiven {
		return standard{p, compiler, s.expandFlags(s.reference.flags, pointValues(p, constants))}
	}
	return standard{p, compiler, strict(s.flagsOf(p, constants))}
}

// Reference describes what the results of candidates are compared with.
type Reference struct {
	Function string   `json:"function,omitempty"` // "" where files of outputs are used
	Compiler string   `json:"compiler,omitempty"` // "" for the first that is installed
	Flags    []string `json:"flags,omitempty"`
	Point    string   `json:"parameters,omitempty"` // the values that it is compiled with, as a key
}

// String describes the reference in a line.
func (r Reference) String() string {
	if r.Function == "" {
		return "files of outputs"
	}
	return fmt.Sprintf("%s, compiled by %s with %s", r.Function,
		strings.Join(append([]string{cmp.Or(r.Compiler, "cc")}, r.Flags...), " "), r.Point)
}

// Reference returns what the results are compared with.
func (s *sourceSpec) Reference() Reference {
	if s.s.reference.outputs != nil {
		return Reference{}
	}
	return Reference{s.s.reference.function, s.standard.compiler, s.standard.flags, s.standard.point.Key()}
}

// UncompiledReferenceError says that the reference of a kernel does not compile. Only a change of the kernel's files helps.
type UncompiledReferenceError struct{ text string }

func (e *UncompiledReferenceError) Error() string { return e.text }

// referenceError says that the reference is at fault and, where that may depend on how it is built, how to change that.
func (s *sourceSpec) referenceError(err error) error {
	if r := kernels.AsRejection(err); r != nil && s.s.reference.outputs == nil {
		text := fmt.Sprintf("the reference of kernel %s: %v; it is %s: ", s.info.Name, err, s.Reference())
		if r.Status == space.CompileFailed {
			return &UncompiledReferenceError{text + "reference.flags and reference.parameters change that"}
		}
		return errors.New(text + "compare the lengths and values of source.arguments with what the function reads and writes")
	}
	return fmt.Errorf("the reference of kernel %s: %v", s.info.Name, err)
}

// outcome is what a call of the reference leaves in the buffers that it may write.
type outcome struct {
	buffers [][]byte // nil for those that it only reads
	// unwritten are, by buffer, the elements that the reference does not write for these inputs; nil where it writes all. A
	// candidate may leave there what it likes.
	unwritten [][]bool
	took      time.Duration // CPU time of the call
}

// compared returns what a call left in buffer i, without differences in elements that the reference does not write.
func (o outcome) compared(i int, got []byte, elem native.Elem) []byte {
	return native.Replace(got, o.buffers[i], o.unwritten[i], elem.Size())
}

// element returns element e of buffer i, of size bytes, nil where the reference does not write it.
func (o *outcome) element(i, e, size int) []byte {
	if marked := o.unwritten[i]; marked != nil && marked[e] {
		return nil
	}
	return o.buffers[i][e*size : (e+1)*size]
}

// lacks says, by buffer, whether the reference leaves elements of it unwritten.
func (o outcome) lacks() []bool {
	out := make([]bool, len(o.unwritten))
	for i, elements := range o.unwritten {
		out[i] = elements != nil
	}
	return out
}

// expected returns what the buffers of each call should hold.
func (s *sourceSpec) expected(ctx context.Context, calls []call, cases []native.Case) ([]outcome, error) {
	if outputs := s.s.reference.outputs; outputs != nil {
		out := make([]outcome, len(calls))
		for i, c := range calls {
			for _, b := range c.buffers {
				data := outputs[b.Name]
				if b.Mode != native.In && len(data) != b.Bytes() {
					return nil, fmt.Errorf("the file of buffer %s holds %d elements, but the buffer has %d: mend the file, or the length", b.Name, len(data)/b.Elem.Size(), b.Len)
				}
				out[i].buffers = append(out[i].buffers, data)
			}
			out[i].unwritten = make([][]bool, len(c.buffers))
		}
		return out, nil
	}
	return s.compute(ctx, s.standard, cases)
}

// with returns a native.Case.With for the call at the asked shape, whose reference has been called before. It is nil where the expected results are
// files. It is loose where elements of a file trade places: inputs that were put together then have other elements, and the function may count
// on which there are.
func (s *sourceSpec) with(c call) (with func(ctx context.Context, inputs [][]byte) (native.Case, error), loose bool) {
	if s.s.reference.outputs != nil {
		return nil, false
	}
	var varied []string
	for i, b := range c.buffers {
		if how := s.s.variationOf(c, i); how != unvaried {
			varied = append(varied, b.Name)
			loose = loose || how == traded
		}
	}
	return func(ctx context.Context, inputs [][]byte) (native.Case, error) {
		one := native.Case{Name: c.label, Dims: c.dims, Buffers: c.buffers, Inputs: inputs}
		s.mu.Lock()
		so := s.built
		s.mu.Unlock()
		want, err := s.computeWith(ctx, so, []native.Case{one})
		if err == nil {
			one.Verify = s.verifyVaried(c, want[0], varied)
		}
		return one, err
	}, loose
}

// verifyVaried returns a native.Case.Verify for a call on inputs of which some differ from the numbers of the file.
func (s *sourceSpec) verifyVaried(c call, want outcome, varied []string) func([][]byte) (kernels.Deviation, error) {
	return func(buffers [][]byte) (kernels.Deviation, error) {
		d, err := s.s.verify(c, buffers, want)
		if r := kernels.AsRejection(err); r != nil && varied != nil {
			err = kernels.Reject(r.Status, "%s. In timed calls %s: write vary: false if the function is right only for exactly these numbers",
				r.Reason, variedText(varied))
		}
		return d, err
	}
}

// referenceTime limits one call of a reference, which may be slow.
const referenceTime = 2 * time.Minute

// referenceProgram returns the text that holds the reference function, with the values of a point, and its language.
func (s *sourceSpec) referenceProgram(p space.Point) (pr program, language string) {
	ref := s.s.reference
	if ref.name == "" {
		return s.s.program(s.s.text, s.s.name, p, s.constants), s.s.language
	}
	pr = s.s.program(ref.text, ref.name, p, s.constants)
	if !s.s.define {
		pr.body = ref.text.src // positions refer to the tuned source
	}
	return pr, ref.language
}

// buildReference compiles the reference function.
func (s *sourceSpec) buildReference(ctx context.Context, by standard) (so string, err error) {
	pr, language := s.referenceProgram(by.point)
	tools, err := s.host.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	return tools.BuildWithin(ctx, s.s.limits.compile, language, s.s.unit(pr, language, s.s.reference.function, 1), by.compiler, slices.Concat(by.flags, ownSymbols))
}

// compute calls the reference function in a process of its own, which may have called it before.
func (s *sourceSpec) compute(ctx context.Context, by standard, cases []native.Case) ([]outcome, error) {
	so, err := s.buildReference(ctx, by)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.built = so
	s.mu.Unlock()
	return s.computeWith(ctx, so, cases)
}

// computeWith is compute with a reference that is compiled. While a candidate is timed, nothing can be.
func (s *sourceSpec) computeWith(ctx context.Context, so string, cases []native.Case) (out []outcome, err error) {
	err = s.host.Own(ctx, so, s.referenceLimits(), func(w *worker.Worker) error {
		out, err = (&caller{s: s, ctx: ctx, w: w}).call(ctx, so, cases)
		return err
	})
	return out, err
}

// referenceLimits returns the limits of a process that calls the reference.
func (s *sourceSpec) referenceLimits() worker.Limits {
	return worker.Limits{Wall: referenceTime, CPU: referenceTime, Memory: s.limits.Memory}
}

// caller calls the reference function in a worker, because it is not more trustworthy than a candidate. Starting a process takes longer than
// most calls, so that a caller can be used several times.
type caller struct {
	s   *sourceSpec
	ctx context.Context // of all its calls
	w   *worker.Worker  // nil before the first call
	so  string          // the loaded object; "" where none is
}

func (c *caller) close() error {
	if c.w == nil {
		return nil
	}
	return c.w.Close()
}

// compute calls the reference function, as it is built by a standard, on some cases.
func (c *caller) compute(ctx context.Context, by standard, cases []native.Case) (out []outcome, err error) {
	so, err := c.s.buildReference(ctx, by)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, so, cases)
}

// call calls the compiled reference on some cases.
func (c *caller) call(ctx context.Context, so string, cases []native.Case) (out []outcome, err error) {
	if c.w == nil {
		if c.w, err = worker.Start(c.ctx, worker.Options{Core: -1, Limits: c.s.referenceLimits()}); err != nil {
			return nil, err
		}
	}
	for _, one := range cases {
		if err := mapBuffers(c.w, one); err != nil {
			return nil, err
		}
		if c.so != so {
			c.so = ""
			if err := c.w.Load(so); err != nil {
				return nil, err
			}
			c.so = so
		}
		o, err := callReference(ctx, c.w, one)
		if err != nil {
			c.so = "" // what fails is unloaded
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// afresh makes the next call use a process in which no other object has been loaded.
func (c *caller) afresh() {
	c.w.Renew("")
	c.so = ""
}

// callReference calls the loaded reference on a case, whose buffers are mapped. Where elements may be unwritten, it calls it a
// second time, over buffers that hold something else.
func callReference(ctx context.Context, w *worker.Worker, c native.Case) (outcome, error) {
	o := outcome{buffers: make([][]byte, len(c.Buffers)), unwritten: make([][]bool, len(c.Buffers))}
	if err := w.Call(ctx, c.Dims); err != nil {
		return o, err
	}
	o.took = w.Took()
	var doubtful []int // buffers
	for i, b := range c.Buffers {
		if b.Mode != native.In {
			o.buffers[i] = bytes.Clone(w.Outputs()[i])
		}
		if b.Mode == native.Out && worker.MayBeUnwritten(o.buffers[i], b.Elem.Size()) {
			doubtful = append(doubtful, i)
		}
	}
	if doubtful == nil {
		return o, nil
	}
	if err := w.CallAgain(ctx, c.Dims); err != nil {
		return o, err
	}
	for _, i := range doubtful {
		o.unwritten[i] = worker.Unwritten(o.buffers[i], w.Outputs()[i], c.Buffers[i].Elem.Size())
	}
	return o, nil
}
