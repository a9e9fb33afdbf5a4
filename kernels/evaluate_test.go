package kernels_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// stub is a problem whose only candidate is itself, and does what its fields say.
type stub struct {
	build, check func() error
	score        kernels.Score
	space        *space.Space
	seeds        []uint64
	fidelity     int
}

func newStub(t *testing.T) *stub {
	t.Helper()
	s, err := space.New("stub", []space.Parameter{space.Range("n", 1, 3)})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func() error { return nil }
	return &stub{build: nothing, check: nothing, space: s, score: kernels.Score{Cost: 5}}
}

func (s *stub) Space() *space.Space       { return s.space }
func (s *stub) Presets() []kernels.Preset { return nil }
func (s *stub) Traits() kernels.Traits    { return kernels.Traits{} }
func (s *stub) Build(context.Context, space.Point) (kernels.Candidate, error) {
	return s, s.build()
}
func (s *stub) Check(_ context.Context, seed uint64) error {
	s.seeds = append(s.seeds, seed)
	return s.check()
}
func (s *stub) Score(_ context.Context, fidelity int) (kernels.Score, error) {
	s.fidelity = fidelity
	return s.score, nil
}
func (s *stub) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
func (s *stub) Abilities() kernels.Abilities           { return kernels.Abilities{} }

func (s *stub) trial() space.Trial {
	return space.Trial{Number: 4, Proposal: space.Proposal{Point: s.space.Default(), Fidelity: 2}}
}

func TestEvaluate(t *testing.T) {
	s := newStub(t)
	s.score.Metrics = []space.Metric{{Name: "b", Value: 1}, {Name: "a", Value: 2}}
	var clock time.Time
	e := &kernels.Evaluator{Problem: s, CheckSeed: 9, Now: func() time.Time {
		clock = clock.Add(1500 * time.Millisecond)
		return clock
	}}
	out, err := e.Evaluate(t.Context(), s.trial())
	if err != nil {
		t.Fatal(err)
	}
	if out.Status != space.OK || out.Cost != 5 || out.Fidelity != 2 || s.fidelity != 2 || out.Seconds != 1.5 {
		t.Errorf("outcome %+v at fidelity %d", out, s.fidelity)
	}
	if out.Metrics[0].Name != "a" || s.score.Metrics[0].Name != "b" {
		t.Errorf("metrics %v from %v: want them in order, and the candidate's own left alone", out.Metrics, s.score.Metrics)
	}
	if len(s.seeds) != 1 || s.seeds[0] != 9 {
		t.Errorf("checked on the seeds %v, want 9", s.seeds)
	}
}

func TestEvaluateRejections(t *testing.T) {
	var words []int
	tests := []struct {
		name         string
		build, check func() error
		status       space.Status
		reason       string
	}{
		{name: "cannot be built", build: func() error { return kernels.Reject(space.Invalid, "needs %d words", 9) }, status: space.Invalid, reason: "needs 9 words"},
		{name: "lines are joined", build: func() error { return kernels.Reject(space.CompileFailed, "a.c:1: no\n  a.c:2: no\n") }, status: space.CompileFailed, reason: "a.c:1: no; a.c:2: no"},
		{name: "wrong", check: func() error { return kernels.Reject(space.WrongAnswer, "item 3") }, status: space.WrongAnswer, reason: "item 3"},
		{name: "panic in build", build: func() error { panic("no\nway") }, status: space.Crashed, reason: "panic: no; way at tune/kernels_test.TestEvaluateRejections.func"},
		{name: "fault in check", check: func() error { words[len(words)]++; return nil }, status: space.Crashed, reason: "evaluate_test.go:"},
		{name: "nil", check: func() error { var p *stub; p.seeds = nil; return nil }, status: space.Crashed, reason: "nil pointer dereference at tune/kernels_test.Test"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStub(t)
			if test.build != nil {
				s.build = test.build
			}
			if test.check != nil {
				s.check = test.check
			}
			out, err := (&kernels.Evaluator{Problem: s}).Evaluate(t.Context(), s.trial())
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != test.status || !strings.Contains(out.Reason, test.reason) || out.Fidelity != 2 {
				t.Errorf("%+v, want %v with %q", out, test.status, test.reason)
			}
		})
	}
}

// TestEvaluateErrors: what is not the candidate's fault is an error that names the trial.
func TestEvaluateErrors(t *testing.T) {
	broken := errors.New("disk full")
	s := newStub(t)
	s.build = func() error { return broken }
	_, err := (&kernels.Evaluator{Problem: s}).Evaluate(t.Context(), s.trial())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "trial 4, n=1") {
		t.Errorf("error %v, want %v of trial 4, n=1", err, broken)
	}

	s = newStub(t)
	s.score.Cost = math.NaN()
	if out, err := (&kernels.Evaluator{Problem: s}).Evaluate(t.Context(), s.trial()); err == nil {
		t.Errorf("a cost of NaN is the outcome %+v", out)
	}

	// A rejection that comes after the end of the context may be due to it.
	s = newStub(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.check = func() error { cancel(); return kernels.Reject(space.Timeout, "slow") }
	if out, err := (&kernels.Evaluator{Problem: s}).Evaluate(ctx, s.trial()); err != context.Canceled || out.Status != space.StatusUnset {
		t.Errorf("%+v and %v, want %v alone", out, err, context.Canceled)
	}
}

func TestVerify(t *testing.T) {
	s := newStub(t)
	if err := kernels.Verify(t.Context(), s, []uint64{3, 1, 2}); err != nil {
		t.Fatal(err)
	}
	if len(s.seeds) != 3 || s.seeds[0] != 3 {
		t.Errorf("checked on the seeds %v", s.seeds)
	}
	s.check = func() error {
		if len(s.seeds) == 5 {
			panic("boom")
		}
		return nil
	}
	err := kernels.Verify(t.Context(), s, []uint64{7, 8, 9})
	if r := kernels.AsRejection(err); r == nil || r.Status != space.Crashed || !strings.Contains(err.Error(), "seed 8: crashed: panic: boom") {
		t.Errorf("error %v, want the crash on seed 8", err)
	}
}

// sharing is a candidate that shares processes with others until it is told not to.
type sharing struct {
	*stub
	alone bool
}

func (s *sharing) Abilities() kernels.Abilities {
	return kernels.Abilities{Isolate: func() { s.alone = true }}
}

func (s *sharing) Check(ctx context.Context, seed uint64) error {
	if !s.alone {
		return errors.New("it is checked beside others")
	}
	return s.stub.Check(ctx, seed)
}

// TestVerifyIsolates: what is to be exported is checked in processes of its own, also where another candidate wraps it.
func TestVerifyIsolates(t *testing.T) {
	type wrapper struct{ kernels.Candidate }
	for _, wrap := range []func(kernels.Candidate) kernels.Candidate{
		func(c kernels.Candidate) kernels.Candidate { return c },
		func(c kernels.Candidate) kernels.Candidate { return wrapper{c} },
	} {
		s := &sharing{stub: newStub(t)}
		if err := kernels.Verify(t.Context(), wrap(s), []uint64{1, 2}); err != nil || len(s.seeds) != 2 {
			t.Errorf("%d checks, %v", len(s.seeds), err)
		}
	}
}

func (s *sharing) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Point: s.space.Default()}}
}

func (s *sharing) Build(context.Context, space.Point) (kernels.Candidate, error) { return s, nil }

// TestBaselineIsolates: the baseline, whichever point it is, is checked in processes of its own; other candidates need not be.
func TestBaselineIsolates(t *testing.T) {
	s := &sharing{stub: newStub(t)}
	opened := &kernels.Opened{Problem: s}
	if b, err := opened.Baseline(t.Context(), 1); err != nil || b.Outcome.Status != space.OK {
		t.Errorf("%+v, %v", b, err)
	}
	s.alone = false
	e := &kernels.Evaluator{Problem: s}
	if _, err := e.Evaluate(t.Context(), s.trial()); err == nil {
		t.Error("every candidate has processes of its own")
	}
}

// doubtful is a candidate whose first scores are refused.
type doubtful struct {
	*stub
	refusals []space.Status
}

func (d *doubtful) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Point: d.space.Default()}}
}

func (d *doubtful) Build(context.Context, space.Point) (kernels.Candidate, error) { return d, nil }

func (d *doubtful) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	if len(d.refusals) > 0 {
		status := d.refusals[0]
		d.refusals = d.refusals[1:]
		return kernels.Score{}, kernels.Reject(status, "implausible")
	}
	return d.stub.Score(ctx, fidelity)
}

// TestBaselineDoubt: a baseline whose clocks disagree is measured once more; one that fails is not.
func TestBaselineDoubt(t *testing.T) {
	for _, c := range []struct {
		refusals []space.Status
		want     space.Status
		left     int
	}{
		{[]space.Status{space.Invalid}, space.OK, 0},
		{[]space.Status{space.Invalid, space.Invalid, space.Invalid}, space.Invalid, 1},
		{[]space.Status{space.Crashed, space.Crashed}, space.Crashed, 1},
	} {
		d := &doubtful{newStub(t), c.refusals}
		got, err := (&kernels.Opened{Problem: d}).Baseline(t.Context(), 1)
		status := got.Outcome.Status
		if failed := (*kernels.BaselineError)(nil); errors.As(err, &failed) {
			status = failed.Outcome.Status
		}
		if status != c.want || len(d.refusals) != c.left {
			t.Errorf("%v: %v, %d refusals are left, %v", c.refusals, status, len(d.refusals), err)
		}
	}
}

func TestTable(t *testing.T) {
	table := kernels.Table{shellSort{}}
	if k, err := table.Lookup("shellsort"); err != nil || k != (shellSort{}) {
		t.Errorf("%v, %v", k, err)
	}
	_, err := table.Lookup("shelsort")
	if err == nil || !strings.Contains(err.Error(), `did you mean "shellsort"?`) {
		t.Errorf("error %v, want it to name the nearest kernel", err)
	}
}

func TestParseShape(t *testing.T) {
	fields := []kernels.Field{
		{Name: "height", Default: "10", Min: 1, Max: 12},
		{Name: "outputs", Default: "values", Options: []string{"values", "all"}},
	}
	for text, want := range map[string]string{
		"":                         "height=10,outputs=values",
		" height = 007 , ":         "height=7,outputs=values",
		"outputs=all,height=12":    "height=12,outputs=all",
		"height=10,outputs=values": "height=10,outputs=values",
	} {
		s, err := kernels.ParseShape(fields, text)
		if err != nil || s.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, s, err, want)
		}
	}
	for text, want := range map[string]string{
		"hight=3":           `did you mean "height"?`,
		"height":            "name=value",
		"height=13":         "want 1 to 12",
		"height=x":          "whole number",
		"height=1,height=2": "twice",
		"outputs=al":        `did you mean "all"?`,
	} {
		if _, err := kernels.ParseShape(fields, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to say %q", text, err, want)
		}
	}
	s, _ := kernels.ParseShape(fields, "")
	if s.Int("height") != 10 || s.Text("outputs") != "values" {
		t.Errorf("fields of %v", s)
	}
}
