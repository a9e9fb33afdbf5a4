package schedule

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// recordedSide is a schedule of a kernel with measured costs, in a comparison of files.
func recordedSide(key string, cost, gain, low, high float64) Side {
	s := results.Schedule{Kernel: "k", KernelVersion: "1", Unit: "ns", Key: key, Cost: cost, Verdict: space.Faster, SpaceFingerprint: "f",
		Baseline: results.Baseline{Key: "n=1", Cost: cost * gain}, Ratio: gain, Search: &results.Seen{Cost: 1, Baseline: 1}}
	if low > 0 {
		s.RatioInterval = &[2]float64{low, high}
	}
	return Side{Name: key, Schedule: s}
}

// TestRecorded: costs from different moments are compared by way of the baseline, and their intervals add up.
func TestRecorded(t *testing.T) {
	change := func(s Side, change func(*results.Schedule)) Side {
		change(&s.Schedule)
		return s
	}
	a, b := recordedSide("n=2", 10, 4, 3.8, 4.2), recordedSide("n=3", 10, 2, 1.9, 2.1)
	for _, c := range []struct {
		name              string
		a, b              Side
		want              Standing
		ratio, confidence float64
		by                bool
	}{
		{"slower", a, b, BSlower, 0.5, 0.96, true},
		{"faster", b, a, BFaster, 2, 0.96, true},
		{"the same file", a, a, Alike, 1, 0.96, true},
		{"the intervals overlap", a, recordedSide("n=3", 10, 3.7, 3.5, 3.9), Alike, 3.7 / 4, 0.96, true},
		{"against the baseline", recordedSide("n=1", 40, 1, 0, 0), a, BFaster, 4, 0.98, true},
		{"without an interval", a, recordedSide("n=3", 10, 2, 0, 0), Undecided, 0.5, 0, true},
		{"not verified", a, change(b, func(s *results.Schedule) { s.Verdict, s.Unverified = space.Unverified, true }), Undecided, 0.5, 0.96, true},
		{"another baseline", a, change(b, func(s *results.Schedule) { s.Baseline.Key = "n=9" }), Undecided, 1, 0, false},
		{"another version", a, change(b, func(s *results.Schedule) { s.KernelVersion = "2" }), Undecided, 1, 0, false},
		{"of an earlier version of tune", a, change(b, func(s *results.Schedule) { s.Verdict = "" }), BSlower, 0.5, 0.93, true},
		{"runs that may differ", a, change(b, func(s *results.Schedule) { s.Metrics = []space.Metric{{Name: space.MetricWithin, Value: 0.01}} }), BSlower, 0.5, 0, true},
		{"another shape", a, change(b, func(s *results.Schedule) { s.Shape = "n=3" }), NotCompared, 0, 0, false},
	} {
		got, err := Compare(t.Context(), c.a, c.b, CompareOptions{Recorded: true})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got.Verdict() != c.want || math.Abs(got.Ratio-c.ratio) > 1e-12 || math.Abs(got.Confidence-c.confidence) > 1e-12 || got.ByBaselines != c.by || got.Exact {
			t.Errorf("%s: %q, %v, confidence %v, by baselines %v", c.name, got.Verdict(), got.Ratio, got.Confidence, got.ByBaselines)
		}
	}
	got, _ := Compare(t.Context(), a, b, CompareOptions{Recorded: true})
	if low, high := 1.9/4.2, 2.1/3.8; math.Abs(got.Low-low) > 1e-12 || math.Abs(got.High-high) > 1e-12 {
		t.Errorf("the interval is %v to %v, want %v to %v", got.Low, got.High, low, high)
	}
}

// TestRegressed: what is proven to be slower by more than the slack is a regression, and nothing else.
func TestRegressed(t *testing.T) {
	exact := func(a, b float64) *Comparison {
		return &Comparison{Exact: true, A: Compared{Cost: a}, B: Compared{Cost: b}}
	}
	for _, c := range []struct {
		name  string
		c     *Comparison
		slack float64
		want  bool
	}{
		{"faster", exact(100, 90), 0, false},
		{"equal", exact(100, 100), 0, false},
		{"slower", exact(100, 106), 0.05, true},
		{"slower by the slack", exact(100, 105), 0.05, false},
		{"slower at all", exact(100, 100.5), 0, true},
		{"costs below 0", exact(-100, -90), 0.05, true},
		{"costs below 0, within the slack", exact(-100, -96), 0.05, false},
		{"from 0", exact(0, 1), 9, true},
		{"measured", &Comparison{Ratio: 0.8, Low: 0.75, High: 0.85}, 0.05, true},
		{"the near end is within the slack", &Comparison{Ratio: 0.8, Low: 0.6, High: 0.96}, 0.05, false},
		{"the near end is beyond", &Comparison{Ratio: 0.8, Low: 0.6, High: 0.95}, 0.05, true},
		{"the interval has 1", &Comparison{Ratio: 0.8, Low: 0.6, High: 1.01}, 0, false},
		{"no interval", &Comparison{Ratio: 0.2}, 0, false},
		{"a busy machine", &Comparison{Ratio: 0.2, Low: 0.19, High: 0.21, Unverified: true}, 0, false},
	} {
		if got := c.c.Regressed(c.slack); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if by, least := (&Comparison{Ratio: 0.8, Low: 0.5, High: 0.9}).Slowdown(); math.Abs(by-0.25) > 1e-12 || math.Abs(least-1/0.9+1) > 1e-12 {
		t.Errorf("slower by %v, at least %v", by, least)
	}
}

// spaceOf reads a space of some parameters.
func spaceOf(t *testing.T, text string) *space.Space {
	t.Helper()
	s, err := space.Read(strings.NewReader("name: s\nparameters:\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestComparedParameters: those that differ are told, and those that only one space has, active or not.
func TestComparedParameters(t *testing.T) {
	of := func(p Parameter) string {
		text := p.Name
		for _, v := range []*string{p.A, p.B} {
			if v == nil {
				text += " -"
			} else {
				text += " " + *v
			}
		}
		return strings.TrimSpace(text + " " + p.Only)
	}
	both := func(a, b string) *Comparison {
		return &Comparison{A: Compared{Schedule: results.Schedule{Key: a, SpaceFingerprint: "1"}}, B: Compared{Schedule: results.Schedule{Key: b, SpaceFingerprint: "2"}}}
	}
	first := spaceOf(t, "- {name: n, type: enum, values: [1, 2]}\n- {name: old, type: bool}\n- {name: depth, type: enum, values: [1, 2], when: n == 2}\n")
	second := spaceOf(t, "- {name: n, type: enum, values: [1, 2]}\n- {name: depth, type: enum, values: [1, 2], when: n == 2}\n- {name: new, type: enum, values: [a, b], when: n == 2}\n")
	for _, c := range []struct {
		name string
		c    *Comparison
		a, b *space.Space
		want []string
	}{
		{"the same", both("n=1 old=true", "n=1 old=true"), first, first, nil},
		{"a value", both("n=1 old=true", "n=1 old=false"), first, first, []string{"old true false"}},
		{"inactive in A", both("n=1 old=true", "n=2 old=true depth=1"), first, first, []string{"n 1 2", "depth - 1"}},
		{"other spaces", both("n=1 old=true", "n=1"), first, second, []string{"old true - a", "new - - b"}},
		{"without the spaces", both("n=1 old=true", "n=1 new=b"), nil, nil, []string{"new - b b", "old true - a"}},
	} {
		got, err := parameters(c.c, c.a, c.b)
		var texts []string
		for _, p := range got {
			texts = append(texts, of(p))
		}
		slices.Sort(texts)
		want := slices.Sorted(slices.Values(c.want))
		if err != nil || !slices.Equal(texts, want) {
			t.Errorf("%s: %q, %v, want %q", c.name, texts, err, want)
		}
	}
	if _, err := parameters(both("n=1", "n"), nil, nil); err == nil || !strings.Contains(err.Error(), "field key") {
		t.Errorf("a key that is none: %v", err)
	}
}

// TestMismatch: schedules that have nothing in common are told apart before anything is built.
func TestMismatch(t *testing.T) {
	a := recordedSide("n=2", 10, 4, 3.8, 4.2)
	for what, change := range map[string]func(*results.Schedule){
		"kernel": func(s *results.Schedule) { s.Kernel = "other" },
		"unit":   func(s *results.Schedule) { s.Unit = "cycles" },
		"shape":  func(s *results.Schedule) { s.Shape = "n=3" },
	} {
		b := a
		change(&b.Schedule)
		_, err := Compare(t.Context(), a, b, CompareOptions{})
		if bad, ok := errors.AsType[*MismatchError](err); !ok || bad.What != what {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// rig is a kernel whose points are n=1 and n=2, and whose measurements are given.
type rig struct {
	space   *space.Space
	compare kernels.CompareFunc
	check   func(n int) error
	cost    func(n int) float64 // where costs are exact
}

func (r *rig) Info() kernels.Info {
	return kernels.Info{Name: "k", Version: "1", Unit: "ns", Exact: r.cost != nil}
}
func (r *rig) Problem(kernels.Shape) (kernels.Problem, error) { return r, nil }
func (r *rig) Space() *space.Space                            { return r.space }
func (r *rig) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Point: r.space.Default()}}
}
func (r *rig) Traits() kernels.Traits { return kernels.Traits{Compare: r.compare} }
func (r *rig) Build(_ context.Context, p space.Point) (kernels.Candidate, error) {
	return rigged{r, p}, nil
}

type rigged struct {
	r     *rig
	point space.Point
}

func (c rigged) Check(context.Context, uint64) error {
	return c.r.check(c.point.Int("n"))
}
func (c rigged) Score(context.Context, int) (s kernels.Score, err error) {
	if c.r.cost != nil {
		s.Cost = c.r.cost(c.point.Int("n"))
	}
	return s, nil
}
func (c rigged) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
func (c rigged) Abilities() kernels.Abilities           { return kernels.Abilities{} }

// TestCompareMeasured: A is the baseline of one confirming series, and each fault is that of the side that has it.
func TestCompareMeasured(t *testing.T) {
	bad := kernels.Reject(space.WrongAnswer, "bad")
	r := &rig{space: spaceOf(t, "- {name: n, type: enum, values: [1, 2]}\n"), check: func(int) error { return nil }}
	side := func(n string) Side {
		return Side{Name: n, Table: kernels.Table{r}, Schedule: results.Schedule{Kernel: "k", Unit: "ns", Key: "n=" + n, Point: []byte(`{"n":` + n + `}`)}}
	}
	var phases []ComparePhase
	run := func() (*Comparison, error) {
		phases = nil
		return Compare(t.Context(), side("1"), side("2"), CompareOptions{Seeds: []uint64{7, 8},
			Observe: func(p CompareProgress) { phases = append(phases, p.Phase) }})
	}
	answer := func(c kernels.Comparison, err error) kernels.CompareFunc {
		return func(_ context.Context, base kernels.Candidate, others []kernels.Candidate, s kernels.Series) (kernels.Final, error) {
			if !s.Confirm || s.Limit != measureLimit || len(others) != 1 || base.(rigged).point.Key() != "n=1" || others[0].(rigged).point.Key() != "n=2" {
				t.Errorf("measured %v beside %v, %+v", others, base, s)
			}
			s.Observe(1, 30)
			return kernels.Final{Comparisons: []kernels.Comparison{c}}, err
		}
	}
	r.compare = answer(kernels.Comparison{Ratio: 0.5, Low: 0.4, High: 0.6, Cost: 20, Baseline: 10, Pairs: 15}, nil)
	c, err := run()
	if err != nil || c.Verdict() != BSlower || c.A.Cost != 10 || c.B.Cost != 20 || c.Confidence != kernels.Confirmed || !c.Regressed(0.6) || c.Regressed(0.7) {
		t.Fatalf("%+v, %v", c, err)
	}
	if want := []ComparePhase{CheckingA, CheckingA, CheckingB, CheckingB, Comparing}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	blame := func(name, which string, wrong bool) {
		t.Helper()
		_, err := run()
		if side, ok := errors.AsType[*SideError](err); !ok || side.Which != which || side.Wrong != wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.compare = answer(kernels.Comparison{Err: bad}, nil)
	blame("B fails while it is measured", "B", true)
	r.compare = answer(kernels.Comparison{}, bad)
	blame("A fails while it is measured", "A", true)
	r.check = func(n int) error {
		if n == 2 {
			return bad
		}
		return nil
	}
	blame("B is wrong", "B", true)
	r.check = func(int) error { return errors.New("no compiler") }
	blame("nothing can be built", "A", false)
	r.check = func(int) error { return nil }
	r.compare = answer(kernels.Comparison{}, errors.New("broken"))
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "side by side: broken") {
		t.Errorf("the measurement breaks: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.check = func(int) error { cancel(); return bad }
	if _, err := Compare(ctx, side("1"), side("2"), CompareOptions{Seeds: []uint64{7}}); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interruption: %v", err)
	}
}
