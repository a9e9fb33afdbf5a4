// Package nativetest is the conformance suite of native specs. It checks what the problem that native.New makes of a spec relies
// on.
package nativetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Options say how much Run does.
type Options struct {
	// Points is how many random points are compiled and checked; 0 means 8.
	Points int
	// Beyond is how much an element is made wrong, relative to the right value and to one; 0 means 0.05. It must be above the
	// spec's tolerance.
	Beyond float64
	// Quick compiles the code as the function Quick says. It is for a further shape, beside one whose code is compiled as users do.
	Quick bool
	// Host to compile and run on; nil means the one of Host.
	Host *native.Host
}

// The defaults of Options.
const (
	defaultPoints = 8
	defaultBeyond = 0.05
)

// Seeds of the inputs that points are checked on.
var Seeds = []uint64{1, 2}

// Run checks a spec. Random points are drawn from a
// fixed seed, so that a failure is the same every time.
func Run(t *testing.T, spec native.Spec, o Options) {
	t.Helper()
	if o.Points == 0 {
		o.Points = defaultPoints
	}
	if o.Beyond == 0 {
		o.Beyond = defaultBeyond
	}
	if o.Host == nil {
		o.Host = Host()
	}
	problem, err := native.New(spec, native.Options{Host: o.Host})
	if err != nil {
		t.Fatal(err)
	}
	s := suite{spec, problem, o}
	t.Run("presets", s.presets)
	t.Run("work", s.work)
	t.Run("cases", s.cases)
	t.Run("text", s.text)
	t.Run("points", s.points)
	t.Run("mistakes", s.mistakes)
}

type suite struct {
	spec    native.Spec
	problem kernels.Problem
	o       Options
}

// sample draws points.
func (s suite) sample(t *testing.T) []space.Point {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	var points []space.Point
	for range 4 * s.o.Points {
		p, err := s.spec.Space().Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		if key := p.Key(); !seen[key] && len(points) < s.o.Points {
			seen[key] = true
			points = append(points, p)
		}
	}
	return points
}

// all are the points of the presets, and random ones.
func (s suite) all(t *testing.T) []space.Point {
	var points []space.Point
	for _, p := range s.spec.Presets() {
		points = append(points, p.Point)
	}
	return append(points, s.sample(t)...)
}

// presets belong to the space and are right; the first is the baseline. Where a shape is to be quick, every other one is compiled, and
// the last, mostly of the widest instructions, among them.
func (s suite) presets(t *testing.T) {
	presets := s.spec.Presets()
	if len(presets) == 0 || presets[0].Name != "baseline" {
		t.Fatal("the first preset is not the baseline")
	}
	seen := map[string]bool{}
	for i, p := range presets {
		if seen[p.Name] || p.Name == "" || p.Doc == "" {
			t.Errorf("preset %q has its name twice, or no name or doc", p.Name)
		}
		seen[p.Name] = true
		if again, err := s.spec.Space().Parse(p.Point.Key()); err != nil || !again.Equal(p.Point) {
			t.Errorf("preset %s is not a point of the space: %v", p.Name, err)
			continue
		}
		if s.o.Quick && !Stress && i > 0 && (len(presets)-1-i)%2 == 1 {
			continue
		}
		if err := s.check(t, p.Point); err != nil {
			t.Errorf("preset %s: %v", p.Name, err)
		}
	}
}

// check builds a point and checks it on all seeds; on the first one alone where it is to be quick.
func (s suite) check(t *testing.T, p space.Point) error {
	t.Helper()
	c, err := s.build(t, p)
	if err == nil {
		seeds := Seeds
		if s.o.Quick && !Stress {
			seeds = seeds[:1]
		}
		err = kernels.Verify(t.Context(), c, seeds)
	}
	if err != nil && kernels.AsRejection(err) == nil {
		t.Fatalf("%s: %v", p, err)
	}
	return err
}

func (s suite) build(t *testing.T, p space.Point) (kernels.Candidate, error) {
	problem, ok := s.problem.(*native.Problem)
	if !s.o.Quick || !ok {
		return s.problem.Build(t.Context(), p)
	}
	src, err := s.spec.Generate(p)
	if err != nil {
		return nil, err
	}
	return problem.Wrap(Quick(src), p), nil
}

// points compile and are right, or are refused by the generator with a reason.
func (s suite) points(t *testing.T) {
	built := 0
	points := s.sample(t)
	for _, p := range points {
		err := s.check(t, p)
		switch r := kernels.AsRejection(err); {
		case err == nil:
			built++
		case r.Status == space.Invalid && r.Reason != "":
		default:
			t.Errorf("%s: %v", p, err)
		}
	}
	if built == 0 && len(points) > 0 {
		t.Errorf("none of %d points can be built", len(points))
	}
}

// text: it is the same every time, and each source is complete.
func (s suite) text(t *testing.T) {
	for _, p := range s.all(t) {
		a, err := s.spec.Generate(p)
		b, again := s.spec.Generate(p)
		if (err == nil) != (again == nil) || a.Text != b.Text || a.Header != b.Header || a.Lang != b.Lang || a.Compiler != b.Compiler ||
			a.Threads != b.Threads || !slices.Equal(a.Flags, b.Flags) {
			t.Errorf("%s: another source the second time", p)
		}
		if r := kernels.AsRejection(err); err != nil && (r == nil || r.Reason == "") {
			t.Errorf("%s: %v", p, err)
		}
		if err == nil && (a.Lang != "c" && a.Lang != "c++" || a.Text == "" || a.Threads < 0) {
			t.Errorf("%s: the source has language %q, %d bytes, %d threads", p, a.Lang, len(a.Text), a.Threads)
		}
	}
}

func (s suite) work(t *testing.T) {
	w := s.spec.Work()
	for name, v := range map[string]float64{"Ops": w.Ops, "Bytes": w.Bytes, "MinSeconds": w.MinSeconds} {
		if v < 0 || !space.Finite(v) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if w.Ops > 0 && w.OpsName != "GFLOP/s" && w.OpsName != "GOP/s" {
		t.Errorf("the rate is called %q", w.OpsName)
	}
}

// cases: they are complete, depend only on point and seed, and have different inputs for different seeds.
func (s suite) cases(t *testing.T) {
	p := s.spec.Presets()[0].Point
	first := s.casesOf(t, p, 1)
	again, other := s.casesOf(t, p, 1), s.casesOf(t, p, 2)
	if len(first) == 0 || len(first) != len(again) {
		t.Fatalf("%d cases, then %d", len(first), len(again))
	}
	differ, drawn := false, false
	for i, c := range first {
		if c.Name == "" || c.Verify == nil || len(c.Inputs) != len(c.Buffers) {
			t.Errorf("case %d (%q) has %d buffers and %d inputs, or no name or Verify", i, c.Name, len(c.Buffers), len(c.Inputs))
			continue
		}
		written := false
		for k, b := range c.Buffers {
			in := c.Inputs[k]
			if b.Name == "" || b.Elem.Size() == 0 || b.Len < 0 || b.Mode < native.In || b.Mode > native.InOut {
				t.Errorf("case %s: buffer %d is %+v", c.Name, k, b)
			}
			if b.Mode != native.Out && len(in) != b.Bytes() {
				t.Errorf("case %s: buffer %s has %d bytes of input, want %d", c.Name, b.Name, len(in), b.Bytes())
			}
			if b.Mode == native.Out && in != nil {
				t.Errorf("case %s: buffer %s is written and has an input", c.Name, b.Name)
			}
			if !slices.Equal(in, again[i].Inputs[k]) {
				t.Errorf("case %s: buffer %s has other inputs the second time", c.Name, b.Name)
			}
			if b.Mode != native.Out && i < len(other) {
				drawn = drawn || len(in) > 0
				differ = differ || !slices.Equal(in, other[i].Inputs[k])
			}
			written = written || b.Mode != native.In
		}
		if !written {
			t.Errorf("case %s writes nothing", c.Name)
		}
	}
	if drawn && !differ {
		t.Error("another seed has the same inputs")
	}
}

func (s suite) casesOf(t *testing.T, p space.Point, seed uint64) []native.Case {
	t.Helper()
	cases, err := s.spec.Cases(t.Context(), p, seed)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// mistakes: the baseline's result is right, and is found wrong as soon as one element is wrong, wherever it is.
func (s suite) mistakes(t *testing.T) {
	p := s.spec.Presets()[0].Point
	outputs, ok := s.problem.(*native.Problem)
	if !ok {
		t.Fatalf("native.New made a %T", s.problem)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range s.casesOf(t, p, 1) {
		right, err := outputs.Outputs(t.Context(), p, c)
		if err != nil {
			t.Errorf("case %s: %v", c.Name, err)
			continue
		}
		d, err := c.Verify(right)
		if err != nil {
			t.Errorf("case %s: what the baseline writes is not right: %v", c.Name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("case %s: what the baseline writes is right, and deviates by %+v: %v", c.Name, d, err)
		}
		for k, b := range c.Buffers {
			if b.Mode == native.In || b.Len == 0 {
				continue
			}
			for _, at := range []int{0, b.Len - 1, r.IntN(b.Len), r.IntN(b.Len)} {
				wrong := clone(right)
				what := s.spoil(b.Elem, wrong[k], at)
				if _, err := c.Verify(wrong); kernels.AsRejection(err) == nil || kernels.AsRejection(err).Status != space.WrongAnswer {
					t.Errorf("case %s: %s[%d] %s and Verify returns %v, want a wrong answer", c.Name, b.Name, at, what, err)
				}
				if b.Elem != native.F32 && b.Elem != native.F64 {
					continue
				}
				if before := floatAt(b.Elem, right[k], at); !math.IsNaN(before) {
					wrong = clone(right)
					setFloat(b.Elem, wrong[k], at, math.NaN())
					if _, err := c.Verify(wrong); kernels.AsRejection(err) == nil {
						t.Errorf("case %s: %s[%d] is NaN and not %v, and Verify returns %v", c.Name, b.Name, at, before, err)
					}
				}
			}
		}
	}
}

func clone(buffers [][]byte) [][]byte {
	out := make([][]byte, len(buffers))
	for i, b := range buffers {
		// A fresh array keeps the alignment that a view of wider elements needs.
		words := make([]uint64, (len(b)+7)/8)
		if len(words) > 0 {
			out[i] = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:len(b):len(b)]
		}
		copy(out[i], b)
	}
	return out
}

// spoil makes an element wrong: an integer by one, a float by a little more than the tolerance.
func (s suite) spoil(e native.Elem, b []byte, at int) string {
	if e == native.F32 || e == native.F64 {
		v := floatAt(e, b, at)
		w := v + s.o.Beyond*max(1, math.Abs(v))
		if !space.Finite(v) {
			w = 1
		}
		setFloat(e, b, at, w)
		return fmt.Sprintf("is %v and not %v", w, v)
	}
	b[at*e.Size()] ^= 1
	return "is off by one"
}

func floatAt(e native.Elem, b []byte, at int) float64 {
	p := unsafe.Pointer(&b[at*e.Size()])
	if e == native.F32 {
		return float64(*(*float32)(p))
	}
	return *(*float64)(p)
}

func setFloat(e native.Elem, b []byte, at int, v float64) {
	p := unsafe.Pointer(&b[at*e.Size()])
	if e == native.F32 {
		*(*float32)(p) = float32(v)
		return
	}
	*(*float64)(p) = v
}
