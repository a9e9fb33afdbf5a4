// Package kernelstest is the conformance suite of kernels: what a search relies on, whatever the kernel.
package kernelstest

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// Run checks a kernel at each of the shapes, given as text (see kernels.ParseShape). Random points are
// drawn from fixed seeds, so that a failure is the same every time.
func Run(t *testing.T, k kernels.Kernel, shapes ...string) {
	t.Helper()
	t.Run("info", func(t *testing.T) { testInfo(t, k) })
	for _, text := range shapes {
		name := text
		if name == "" {
			name = "default"
		}
		t.Run(name, func(t *testing.T) {
			shape, err := kernels.ParseShape(k.Info().Shape, text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := k.Problem(shape)
			if err != nil {
				t.Fatal(err)
			}
			s := suite{problem: p, exact: k.Info().Exact}
			t.Run("presets", s.presets)
			t.Run("points", s.points)
			t.Run("artifacts", s.artifacts)
			t.Run("traits", s.traits)
			t.Run("canceled", s.canceled)
			t.Run("same space", func(t *testing.T) { s.sameSpace(t, k, shape) })
		})
	}
}

func testInfo(t *testing.T, k kernels.Kernel) {
	info := k.Info()
	for what, text := range map[string]string{"name": info.Name, "doc": info.Doc, "version": info.Version} {
		if text == "" || strings.ContainsAny(text, "\n") {
			t.Errorf("the %s is %q, want one line", what, text)
		}
	}
	if info.Unit != "cycles" && info.Unit != "ns" && (!info.Exact || info.Unit == "") {
		t.Errorf("the unit is %q, want cycles or ns; costs that are looked up may have any", info.Unit)
	}
	if _, err := kernels.ParseShape(info.Shape, ""); err != nil {
		t.Errorf("the default shape: %v", err)
	}
	for _, f := range info.Shape {
		if _, err := kernels.ParseShape(info.Shape, f.Name+"="+f.Default); err != nil {
			t.Errorf("the default of %s: %v", f.Name, err)
		}
	}
}

type suite struct {
	problem kernels.Problem
	exact   bool
}

// evaluate returns the outcome of a point, which has to be plausible.
func (s suite) evaluate(t *testing.T, p space.Point) space.Outcome {
	t.Helper()
	return s.evaluateAt(t, p, 0)
}

// evaluateAt is evaluate at a fidelity.
func (s suite) evaluateAt(t *testing.T, p space.Point, fidelity int) space.Outcome {
	t.Helper()
	e := &kernels.Evaluator{Problem: s.problem, CheckSeed: 1}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p, Fidelity: fidelity}})
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	if err := out.Validate(); err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return out
}

// presets are right, on more than one set of inputs; the first is the baseline.
func (s suite) presets(t *testing.T) {
	presets := s.problem.Presets()
	if len(presets) == 0 || presets[0].Name != "baseline" {
		t.Fatal("the first preset is not the baseline")
	}
	seen := map[string]bool{}
	for _, preset := range presets {
		if seen[preset.Name] || preset.Doc == "" {
			t.Errorf("preset %q has its name twice, or no doc", preset.Name)
		}
		seen[preset.Name] = true
		if out := s.evaluate(t, preset.Point); out.Status != space.OK {
			t.Errorf("preset %s: %v: %s", preset.Name, out.Status, out.Reason)
			continue
		}
		c, err := s.problem.Build(t.Context(), preset.Point)
		if err != nil {
			t.Fatal(err)
		}
		if err := kernels.Verify(t.Context(), c, []uint64{2, 3, 4}); err != nil {
			t.Errorf("preset %s: %v", preset.Name, err)
		}
	}
}

// sample draws the suite's random points.
func (s suite) sample(t *testing.T) []space.Point {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var points []space.Point
	for range sampled {
		p, err := s.problem.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(points, p.Equal) {
			points = append(points, p)
		}
	}
	return points
}

// points: every point is right, or cannot be built and says why. A generator may refuse a point, but must not generate a wrong
// program.
func (s suite) points(t *testing.T) {
	if brief := s.problem.Traits().Brief; brief != nil {
		brief() // the presets had their whole score
	}
	for i, p := range s.sample(t) {
		out := s.evaluate(t, p)
		switch out.Status {
		case space.OK:
		case space.Invalid:
			if out.Reason == "" {
				t.Errorf("%s: invalid without a reason", p)
			}
			continue
		default:
			t.Errorf("%s: %v: %s", p, out.Status, out.Reason)
			continue
		}
		if s.exact && i < sampled/3 {
			if again := s.evaluate(t, p); again.Cost != out.Cost {
				t.Errorf("%s costs %v, then %v", p, out.Cost, again.Cost)
			}
		}
	}
}

// artifacts: a point builds to the same files twice, and a loaded program passes the same check and has the same score as the
// built one.
func (s suite) artifacts(t *testing.T) {
	load := s.problem.Traits().Load
	points := s.sample(t)
	points = points[:min(len(points), sampled/3)]
	for _, preset := range s.problem.Presets() {
		if !slices.ContainsFunc(points, preset.Point.Equal) {
			points = append(points, preset.Point)
		}
	}
	for _, p := range points {
		built, err := s.problem.Build(t.Context(), p)
		if kernels.AsRejection(err) != nil {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		again, err := s.problem.Build(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: built once, but not twice: %v", p, err)
		}
		if err := kernels.Verify(t.Context(), again, []uint64{1}); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		a, b := render(t, built), render(t, again)
		if len(a) == 0 || len(a) != len(b) {
			t.Fatalf("%s: %d artifacts, then %d", p, len(a), len(b))
		}
		for i := range a {
			if a[i].name != b[i].name || !bytes.Equal(a[i].data, b[i].data) {
				t.Errorf("%s: artifact %s is another the second time", p, a[i].name)
			}
		}
		if load == nil {
			continue
		}
		loaded, err := load(bytes.NewReader(a[0].data))
		if err != nil {
			t.Fatalf("%s: load: %v", p, err)
		}
		if err := kernels.Verify(t.Context(), loaded, []uint64{1, 2}); err != nil {
			t.Fatalf("%s: loaded: %v", p, err)
		}
		if got := render(t, loaded); !bytes.Equal(got[0].data, a[0].data) {
			t.Errorf("%s: artifact %s changes when it is loaded and written", p, a[0].name)
		}
		if s.exact {
			want, got := s.score(t, again), s.score(t, loaded)
			if want != got {
				t.Errorf("%s: costs %v, and %v when it is loaded", p, want, got)
			}
		}
	}
	if load != nil {
		if _, err := load(strings.NewReader("no program")); err == nil {
			t.Error("a text that is no program was loaded")
		}
	}
}

// traits: the problem does what its traits say, at the presets.
func (s suite) traits(t *testing.T) {
	traits := s.problem.Traits()
	if err := traits.Validate(); err != nil {
		t.Error(err)
	}
	params := s.problem.Space().Parameters()
	for _, name := range traits.Blind {
		if !slices.ContainsFunc(params, func(p space.Parameter) bool { return p.Name == name }) {
			t.Errorf("the cheapest score is blind to %s, which is no parameter", name)
		}
	}
	presets := s.problem.Presets()
	if traits.Baselines != nil {
		if !slices.ContainsFunc(traits.Baselines(), presets[0].Point.Equal) {
			t.Errorf("%s is not among the points that may be the baseline", presets[0].Point)
		}
	}
	for _, preset := range presets {
		for fidelity := 1; fidelity <= traits.Levels; fidelity++ {
			if out := s.evaluateAt(t, preset.Point, fidelity); out.Status != space.OK || out.Fidelity != fidelity {
				t.Errorf("preset %s at fidelity %d: %v: %s", preset.Name, fidelity, out, out.Reason)
			}
		}
		if traits.Seconds != nil {
			if took := traits.Seconds(preset.Point); !(took >= 0) || math.IsInf(took, 1) {
				t.Errorf("preset %s took %v s", preset.Name, took)
			}
		}
		if traits.Threads != nil {
			if n, err := traits.Threads(preset.Point); n < 1 || err != nil {
				t.Errorf("preset %s has %d threads, %v", preset.Name, n, err)
			}
		}
		if traits.Passes != nil {
			for _, pass := range traits.Passes(preset.Point) {
				if err := traits.Explain(t.Context(), io.Discard, preset.Point, pass); err != nil {
					t.Errorf("preset %s, pass %s: %v", preset.Name, pass, err)
				}
			}
		}
	}
}

func (s suite) score(t *testing.T, c kernels.Candidate) float64 {
	t.Helper()
	score, err := c.Score(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return score.Cost
}

type file struct {
	name string
	data []byte
}

// render writes a candidate's artifacts.
func render(t *testing.T, c kernels.Candidate) []file {
	t.Helper()
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	files := make([]file, len(artifacts))
	for i, a := range artifacts {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatalf("artifact %s: %v", a.Name, err)
		}
		if a.Name == "" || b.Len() == 0 {
			t.Errorf("artifact %d (%q) has no name or is empty", i, a.Name)
		}
		files[i] = file{a.Name, b.Bytes()}
	}
	return files
}

// patience is how long an evaluation may continue after its context ended. It is generous because test machines are busy; a
// kernel that ignores its context takes longer.
const patience = 10 * time.Second

// canceled: a context that is done ends an evaluation with its error, not with an outcome.
func (s suite) canceled(t *testing.T) {
	soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	start := time.Now()
	trial := space.Trial{Proposal: space.Proposal{Point: s.problem.Presets()[0].Point}}
	out, err := (&kernels.Evaluator{Problem: s.problem}).Evaluate(soon, trial)
	if err != context.DeadlineExceeded && (err != nil || out.Status != space.OK) {
		t.Errorf("Evaluate returned %v and %v after its deadline, want a score or %v", out, err, context.DeadlineExceeded)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("Evaluate went on for %v after its deadline", took)
	}

	ctx, cancel := context.WithCancel(t.Context())
	c, err := s.problem.Build(ctx, s.problem.Presets()[0].Point)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := c.Check(ctx, 1); err == nil {
		t.Error("Check ignores a context that is done")
	}
	if err := kernels.Verify(ctx, c, []uint64{1}); err != context.Canceled {
		t.Errorf("Verify returned %v, want %v", err, context.Canceled)
	}
	out, err = (&kernels.Evaluator{Problem: s.problem}).Evaluate(ctx, trial)
	if err != context.Canceled || out.Status != space.StatusUnset {
		t.Errorf("Evaluate returned %v and %v, want %v alone", out, err, context.Canceled)
	}
}

// sameSpace: a problem's space depends on nothing but its shape.
func (s suite) sameSpace(t *testing.T, k kernels.Kernel, shape kernels.Shape) {
	again, err := k.Problem(shape)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.problem.Space().Fingerprint(), again.Space().Fingerprint(); a != b {
		t.Errorf("the same shape gave the spaces %s and %s", a, b)
	}
}
