package tune

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/space"
)

// measuredToy is a toy whose costs are measured: in the search even numbers seem to cost half of what they do.
type measuredToy struct {
	toy
	compare func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error)
}

type measuredProblem struct {
	*toyProblem
	kernel measuredToy
}

func (k measuredToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.toy.Problem(s)
	if err != nil {
		return nil, err
	}
	return &measuredProblem{p.(*toyProblem), k}, nil
}

func (p *measuredProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	c, err := p.toyProblem.Build(ctx, point)
	if err != nil {
		return nil, err
	}
	return &measuredCandidate{c.(*toyCandidate)}, nil
}

type measuredCandidate struct{ *toyCandidate }

func (c *measuredCandidate) Score(context.Context, int) (kernels.Score, error) {
	cost := 100 + float64(c.n)
	if c.n%2 == 0 {
		cost /= 2
	}
	return kernels.Score{Cost: cost}, nil
}

func (p *measuredProblem) Traits() kernels.Traits {
	t := p.toyProblem.Traits()
	t.Compare = p.compare
	return t
}

func (p *measuredProblem) compare(_ context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	if series.Observe != nil {
		series.Observe(1, 21)
	}
	var numbers []int
	for _, f := range finalists {
		numbers = append(numbers, f.(*measuredCandidate).n)
	}
	return p.kernel.compare(p, baseline.(*measuredCandidate).n, numbers, series)
}

// honest compares by what numbers cost, and cannot tell neighbours apart.
func honest(_ *measuredProblem, baseline int, finalists []int, _ kernels.Series) (kernels.Final, error) {
	cost := func(n int) float64 { return 100 + float64(n) }
	f := kernels.Final{Machine: kernels.MachineState{Load: 1.5, Busy: 0.5, Drift: 0.01, Probes: 9}}
	best := slices.Index(finalists, slices.Min(finalists))
	for _, n := range finalists {
		r := cost(baseline) / cost(n)
		f.Comparisons = append(f.Comparisons, kernels.Comparison{
			Ratio: r, Low: 0.99 * r, High: 1.01 * r, Cost: cost(n), Baseline: cost(baseline), Pairs: 9,
			Ratios: slices.Repeat([]float64{r}, 9), Metrics: []space.Metric{{Name: "final", Value: 1}}, Indistinct: n == finalists[best]+2,
		})
	}
	f.Best = best
	return f, nil
}

// favour makes a finalist nine times as fast as the baseline; -1 is none.
func favour(f *kernels.Final, i int) {
	if i >= 0 {
		c := &f.Comparisons[i]
		c.Ratio, c.Low, c.High, c.Cost, f.Best = 9, 8, 10, c.Baseline/9, i
	}
}

func newMeasuredToy() measuredToy {
	return measuredToy{toy{size: 20, noise: func() float64 { return 0 }}, honest}
}

// TestIndistinctOnce: the baseline's point, when it is a finalist too, is named once.
func TestIndistinctOnce(t *testing.T) {
	k := newMeasuredToy()
	k.size = 4
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		f, err := honest(p, baseline, finalists, series)
		if slices.Contains(finalists, baseline) {
			t.Errorf("the finalists are %v, with the baseline's %d, which is measured beside them", finalists, baseline)
		}
		for i := range f.Comparisons {
			f.Comparisons[i].Indistinct = true
		}
		return f, err
	}
	few := k
	few.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		f, err := k.compare(p, baseline, finalists, series)
		for i := range f.Comparisons {
			f.Comparisons[i].TooFew = !series.Confirm
		}
		return f, err
	}
	if s := runToy(t, few, Options{Budget: search.Budget{Evaluations: 4}}).Schedule; !slices.Equal(s.IndistinctFrom, []string{"n=4"}) || len(s.TooFewPairs) != 2 {
		t.Errorf("it is not told apart from %v, with too few pairs from %v", s.IndistinctFrom, s.TooFewPairs)
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 4}})
	if got := slices.Sorted(slices.Values(report.Schedule.IndistinctFrom)); report.Schedule.Key != "n=1" || !slices.Equal(got, []string{"n=2", "n=3", "n=4"}) {
		t.Errorf("%s is not told apart from %v", report.Schedule.Key, got)
	}
}

// TestFinal: what is exported is what the final measurement says.
func TestFinal(t *testing.T) {
	var asked []int
	k := newMeasuredToy()
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		if !series.Confirm {
			asked = finalists
		}
		if baseline != 20 || series.Limit <= 0 || series.Limit > 30*time.Second {
			t.Errorf("compared with %d for %v", baseline, series.Limit)
		}
		return honest(p, baseline, finalists, series)
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}})
	if want := []int{2, 4, 6, 8, 10}; !slices.Equal(asked, want) {
		t.Errorf("the finalists are %v, want %v", asked, want)
	}
	s := report.Schedule
	if s == nil || s.Key != "n=2" || s.Cost != 102 || s.Baseline.Cost != 120 || s.Ratio != 120.0/102 || s.Pairs != 9 || s.Unverified {
		t.Fatalf("the schedule is %+v", s)
	}
	if s.RatioInterval == nil || s.RatioInterval[0] >= s.Ratio || s.RatioInterval[1] <= s.Ratio {
		t.Errorf("the interval is %v round %v", s.RatioInterval, s.Ratio)
	}
	pairs, err := results.ReadFinal(report.Dir)
	if err != nil || !pairs.Of(*s) || len(pairs.First) != 5 || len(pairs.Confirmed) != 1 {
		t.Fatalf("the pairs are %+v: %v", pairs, err)
	}
	for i, c := range append(pairs.First, pairs.Confirmed...) {
		if want := []string{"n=2", "n=4", "n=6", "n=8", "n=10", "n=2"}[i]; c.Key != want || len(c.Ratios) != 9 || c.Interval == nil {
			t.Errorf("comparison %d is %+v, want %s", i, c, want)
		}
	}
	if s.MachineState == nil || *s.MachineState != (results.MachineState{Load: 1.5, Busy: 0.5, Drift: 0.01, Probes: 9}) {
		t.Errorf("the state of the machine is %+v", s.MachineState)
	}
	if !slices.Equal(s.IndistinctFrom, []string{"n=4"}) || len(s.Metrics) != 1 || s.Metrics[0].Name != "final" || len(s.Checks) != ExportChecks {
		t.Errorf("the schedule has %v, %v, %d checks", s.IndistinctFrom, s.Metrics, len(s.Checks))
	}
}

// confinedToy has room for few finalists.
type confinedToy struct {
	measuredToy
	room int
}

type confinedProblem struct {
	*measuredProblem
	room int
}

func (k confinedToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.measuredToy.Problem(s)
	if err != nil {
		return nil, err
	}
	return &confinedProblem{p.(*measuredProblem), k.room}, nil
}

func (p *confinedProblem) Traits() kernels.Traits {
	t := p.measuredProblem.Traits()
	t.MostFinalists = p.room
	return t
}

// TestFinalConfined: as many finalists are compared as there is room for.
func TestFinalConfined(t *testing.T) {
	for room, want := range map[int][]int{1: {2}, 3: {2, 4, 6}, 9: {2, 4, 6, 8, 10}} {
		var asked []int
		k := confinedToy{newMeasuredToy(), room}
		k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
			if asked == nil {
				asked = finalists
			}
			return honest(p, baseline, finalists, series)
		}
		if report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}}); !slices.Equal(asked, want) || report.Schedule.Key != "n=2" {
			t.Errorf("room for %d: the finalists are %v, want %v; %s is exported", room, asked, want, report.Schedule.Key)
		}
	}
}

// TestFinalOrder: a finalist that the ranking has behind wins if it is the faster one, and what is exported stays so.
func TestFinalOrder(t *testing.T) {
	k := newMeasuredToy()
	compared := 0
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		compared++
		f, err := honest(p, baseline, finalists, series)
		favour(&f, slices.Index(finalists, 8))
		return f, err
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}})
	if report.Schedule == nil || report.Schedule.Key != "n=8" || report.Schedule.Ratio != 9 {
		t.Fatalf("the schedule is %+v", report.Schedule)
	}
	before := compared
	var b strings.Builder
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", &b); err != nil {
		t.Fatal(err)
	}
	if compared != before || !strings.Contains(b.String(), `"n=8"`) {
		t.Errorf("an export measured again (%v): %s", compared != before, b.String())
	}
	if err := os.Remove(filepath.Join(report.Dir, ScheduleName)); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", &b); err != nil || compared != before+2 || !strings.Contains(b.String(), `"n=8"`) {
		t.Errorf("an export without a schedule: %v, %s", err, b.String())
	}
	v, err := Verify(t.Context(), kernels.Table{k}, filepath.Join(report.Dir, ScheduleName), []uint64{1})
	if err == nil {
		t.Errorf("a schedule that is gone was verified: %+v", v)
	}
}

// threadedToy has points of one thread, those from 10 on, and threaded ones, which seem to cost a tenth in the search.
type threadedToy struct{ measuredToy }

type threadedProblem struct{ *measuredProblem }

func (k threadedToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.measuredToy.Problem(s)
	if err != nil {
		return nil, err
	}
	return &threadedProblem{p.(*measuredProblem)}, nil
}

func (p *threadedProblem) Traits() kernels.Traits {
	t := p.measuredProblem.Traits()
	t.Threads = p.threads
	return t
}

func (p *threadedProblem) threads(point space.Point) (int, error) {
	if point.Int("n") >= 10 {
		return 1, nil
	}
	return 2, nil
}

// TestFinalSerial: where the best points of a search have several threads, the best right one of a single thread is
// measured beside them, and exported where it is the fastest.
func TestFinalSerial(t *testing.T) {
	k := threadedToy{newMeasuredToy()}
	k.check = func(ctx context.Context, n int, seed uint64) error {
		if n == 10 && seed == kernels.ExportSeeds(1)[0] {
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	var asked []int
	fastest := 0
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		if !series.Confirm {
			asked = finalists
		}
		f, err := honest(p, baseline, finalists, series)
		favour(&f, slices.Index(finalists, fastest))
		return f, err
	}
	// Even numbers seem to cost half, so that the search has 2, 4, 6 and 8 before all of one thread.
	for _, test := range []struct {
		size, fastest int
		asked         []int
		best          string
	}{
		{20, 12, []int{2, 4, 6, 8, 12}, "n=12"},
		{9, 0, []int{2, 4, 6, 8, 1}, "n=1"},
	} {
		k.size, fastest = test.size, test.fastest
		report := runToy(t, k, Options{Seed: 1, Strategy: "grid"})
		if !slices.Equal(asked, test.asked) || report.Schedule == nil || report.Schedule.Key != test.best {
			t.Errorf("size %d: the finalists are %v, want %v; the schedule is %+v", test.size, asked, test.asked, report.Schedule)
		}
	}
}

// TestFinalSerialJoins: the point of one thread joins finalists that are all better by the costs of the search, and
// what is exported then is what an export of the run finds too.
func TestFinalSerialJoins(t *testing.T) {
	k := threadedToy{newMeasuredToy()}
	k.size = 19
	k.build = func(n int) error {
		if n%2 == 0 && n >= 10 {
			return kernels.Reject(space.Crashed, "it died")
		}
		return nil
	}
	var asked []int
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		if !series.Confirm {
			asked = finalists
		}
		f, err := honest(p, baseline, finalists, series)
		favour(&f, slices.Index(finalists, 11))
		return f, err
	}
	report := runToy(t, k, Options{Strategy: "grid"})
	if want := []int{2, 4, 6, 8, 1, 11}; !slices.Equal(asked, want) || report.Schedule == nil || report.Schedule.Key != "n=11" {
		t.Fatalf("the finalists are %v, want %v; the schedule is %+v", asked, want, report.Schedule)
	}
	asked = nil
	var b strings.Builder
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", &b); err != nil || asked != nil || !strings.Contains(b.String(), `"n=11"`) {
		t.Errorf("an export measured %v again (%v): %s", asked, err, b.String())
	}
}

// deviatingToy is off by more the larger the seed of the inputs is.
type deviatingToy struct{ measuredToy }

type deviatingProblem struct{ *measuredProblem }

type deviatingCandidate struct {
	*measuredCandidate
	d kernels.Deviation
}

func (k deviatingToy) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.measuredToy.Problem(s)
	if err != nil {
		return nil, err
	}
	return &deviatingProblem{p.(*measuredProblem)}, nil
}

func (p *deviatingProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	c, err := p.measuredProblem.Build(ctx, point)
	if err != nil {
		return nil, err
	}
	return &deviatingCandidate{measuredCandidate: c.(*measuredCandidate)}, nil
}

func (p *deviatingProblem) Traits() kernels.Traits {
	t := p.measuredProblem.Traits()
	t.Compare = p.compare
	return t
}

func (p *deviatingProblem) compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	plain := make([]kernels.Candidate, len(finalists))
	for i, f := range finalists {
		plain[i] = f.(*deviatingCandidate).measuredCandidate
	}
	return p.measuredProblem.compare(ctx, baseline.(*deviatingCandidate).measuredCandidate, plain, series)
}

func seedError(seed uint64) float64 { return float64(seed>>32) / (1 << 32) }

func (c *deviatingCandidate) Check(ctx context.Context, seed uint64) error {
	c.d.Add(seedError(seed), 1)
	return c.measuredCandidate.Check(ctx, seed)
}

func (c *deviatingCandidate) Abilities() kernels.Abilities {
	return kernels.Abilities{Deviation: func() kernels.Deviation { return c.d }}
}

// TestFinalDeviation: a schedule has the largest error on all its inputs, outcomes that on the search's, and a
// verification that on its own.
func TestFinalDeviation(t *testing.T) {
	k := deviatingToy{newMeasuredToy()}
	report := runToy(t, k, Options{Seed: 3, Budget: search.Budget{Evaluations: 20}})
	largest := 0.0
	for _, seed := range kernels.ExportSeeds(3) {
		largest = max(largest, seedError(seed))
	}
	s := report.Schedule
	if d, _, ok := kernels.SplitDeviation(s.Metrics); !ok || d != (kernels.Deviation{MaxError: largest, ErrorShare: largest}) {
		t.Errorf("the schedule has %v, and its inputs an error of %v", s.Metrics, largest)
	}
	run, err := results.Read(report.Dir)
	if err != nil {
		t.Fatal(err)
	}
	want := seedError(run.Settings.CheckSeed)
	for r, err := range run.Rounds() {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Entries {
			if d, _, ok := kernels.SplitDeviation(e.Outcome.Metrics); !ok || d != (kernels.Deviation{MaxError: want, ErrorShare: want}) {
				t.Errorf("the outcome of %s has %v, want an error of %v", e.Key, e.Outcome.Metrics, want)
			}
		}
	}
	path := filepath.Join(report.Dir, ScheduleName)
	v, err := Verify(t.Context(), kernels.Table{k}, path, []uint64{1 << 62})
	if err != nil || !v.OK() {
		t.Fatalf("%v: %+v", err, v)
	}
	if v.Deviation == nil || *v.Deviation != (kernels.Deviation{MaxError: 0.25, ErrorShare: 0.25}) {
		t.Errorf("the deviation on other inputs is %+v", v.Deviation)
	}
	tamper(t, report.Dir, func(s *results.Schedule) {
		for i := range s.Metrics {
			if s.Metrics[i].Name == space.MetricErrorShare {
				s.Metrics[i].Value = 1.5
			}
		}
	})
	if failed := verify(t, k, report.Dir); len(failed) != 1 || !strings.Contains(failed[0], "field metrics: error_share is 1.5") {
		t.Errorf("a claim that no right candidate can make: %q", failed)
	}
}

// TestFinalRefused: finalists that die or are wrong on fresh inputs make room for the next ones.
func TestFinalRefused(t *testing.T) {
	k := newMeasuredToy()
	fresh := kernels.ExportSeeds(7)
	k.check = func(ctx context.Context, n int, seed uint64) error {
		switch {
		case n == 2 && seed == fresh[0], n == 4 && seed == fresh[ExportChecks-1]:
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	k.compare = func(p *measuredProblem, baseline int, finalists []int, series kernels.Series) (kernels.Final, error) {
		f, err := honest(p, baseline, finalists, series)
		if i := slices.Index(finalists, 6); i >= 0 {
			f.Comparisons[i] = kernels.Comparison{Err: kernels.Reject(space.Crashed, "it died")}
		}
		return f, err
	}
	report := runToy(t, k, Options{Seed: 7, Budget: search.Budget{Evaluations: 20}})
	if report.Schedule == nil || report.Schedule.Key != "n=8" || len(report.Schedule.IndistinctFrom) != 0 {
		t.Fatalf("the schedule is %+v", report.Schedule)
	}
	var refused []string
	for _, r := range report.Refused {
		refused = append(refused, r.Key)
	}
	slices.Sort(refused)
	if !slices.Equal(refused, []string{"n=2", "n=4"}) && !slices.Equal(refused, []string{"n=2", "n=4", "n=6"}) {
		t.Errorf("refused are %v", report.Refused)
	}

	k.check = func(ctx context.Context, n int, seed uint64) error {
		if n <= 12 && slices.Contains(fresh, seed) {
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	k.compare = honest
	if report = runToy(t, k, Options{Seed: 7, Budget: search.Budget{Evaluations: 20}}); report.Schedule == nil || report.Schedule.Key != "n=13" {
		t.Errorf("the schedule is %+v", report.Schedule)
	}
}

// TestFinalBaselineWrong: the baseline is exported only where it passes every check, and else the run says so.
func TestFinalBaselineWrong(t *testing.T) {
	for _, check := range []int{1, ExportChecks - 1} {
		k := newMeasuredToy()
		k.check = func(ctx context.Context, n int, seed uint64) error {
			if n == 20 && seed == kernels.ExportSeeds(7)[check] {
				return wrongAnswer(n)
			}
			return ctx.Err()
		}
		k.compare = scripted(func(int) kernels.Comparison { return compared(0.9, 0.8, 0.95) }, func(int) kernels.Comparison { return compared(0.9, 0.8, 0.95) })
		_, err := Run(t.Context(), Options{Kernel: k, Seed: 7, Budget: search.Budget{Evaluations: 20}, Dir: filepath.Join(t.TempDir(), "run")})
		if err == nil || !strings.Contains(err.Error(), "the baseline") || !strings.Contains(err.Error(), "20 is wrong") {
			t.Errorf("check %d: Run returned %v", check, err)
		}
	}
}

// scripted answers the first series and the one that confirms by two functions of a number and the baseline's.
func scripted(first, confirm func(n int) kernels.Comparison) func(*measuredProblem, int, []int, kernels.Series) (kernels.Final, error) {
	return func(_ *measuredProblem, _ int, finalists []int, s kernels.Series) (kernels.Final, error) {
		f := kernels.Final{Machine: kernels.MachineState{Probes: 1}}
		for i, n := range finalists {
			c := first(n)
			if s.Confirm {
				c = confirm(n)
			}
			if c.Ratio > 0 {
				c.Baseline = 1000
				c.Cost = c.Baseline / c.Ratio
			}
			if f.Comparisons = append(f.Comparisons, c); c.Ahead(f.Comparisons[f.Best]) {
				f.Best = i
			}
		}
		return f, nil
	}
}

func compared(ratio, low, high float64) kernels.Comparison {
	return kernels.Comparison{Ratio: ratio, Low: low, High: high, Pairs: 20}
}

func unsure(c kernels.Comparison) kernels.Comparison { c.Unverified = true; return c }

// TestFinalVerdict: the baseline takes part, finalists are ranked by what is proven of them, and only the series that had no part in
// that is quoted.
func TestFinalVerdict(t *testing.T) {
	for _, test := range []struct {
		name           string
		first, confirm func(n int) kernels.Comparison
		key            string
		verdict        space.Verdict
		closest        string
		ratio          float64
	}{
		{"the greater lower end wins", func(n int) kernels.Comparison {
			switch n {
			case 4:
				return compared(1.30, 0.90, 1.50)
			case 6:
				return compared(1.10, 1.08, 1.12)
			}
			return compared(1.05, 1.04, 1.06)
		}, func(int) kernels.Comparison { return compared(1.07, 1.05, 1.09) }, "n=6", space.Faster, "", 1.07},
		{"luck does not win", func(n int) kernels.Comparison {
			return compared(1.2, 1.1, 1.3)
		}, func(int) kernels.Comparison { return compared(1.01, 0.99, 1.03) }, "n=20", space.NoGain, "n=2", 1},
		{"three threads on two cores", func(int) kernels.Comparison {
			return compared(0.95, 0.94, 0.96)
		}, func(int) kernels.Comparison { return compared(0.935, 0.93, 0.94) }, "n=20", space.NoGain, "n=2", 1},
		{"a busy machine keeps the order of the search", func(n int) kernels.Comparison {
			return unsure(compared(1+float64(n)/100, 0.5, 2))
		}, func(int) kernels.Comparison { return unsure(compared(1.3, 1.2, 1.4)) }, "n=2", space.Unverified, "", 1.3},
		{"but for what looks slower", func(n int) kernels.Comparison {
			if n == 2 {
				return unsure(compared(0.9, 0.8, 1.1))
			}
			return unsure(compared(1.1, 0.9, 1.2))
		}, func(int) kernels.Comparison { return unsure(compared(1.2, 0.9, 1.4)) }, "n=4", space.Unverified, "", 1.2},
		{"and to the end", func(n int) kernels.Comparison {
			return unsure(compared(0.9, 0.8, 1.1))
		}, func(int) kernels.Comparison { return unsure(compared(0.93, 0.9, 1.4)) }, "n=20", space.Unverified, "n=2", 1},
		{"too few pairs", func(n int) kernels.Comparison {
			return compared(1.2, 1.1, 1.3)
		}, func(int) kernels.Comparison { return kernels.Comparison{Ratio: 1.2, Pairs: 3} }, "n=2", space.Unverified, "", 1.2},
		{"no pair", func(n int) kernels.Comparison {
			return kernels.Comparison{Unverified: true}
		}, func(int) kernels.Comparison { return kernels.Comparison{Unverified: true} }, "n=2", space.Unverified, "", 60. / 51},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newMeasuredToy()
			k.compare = scripted(test.first, test.confirm)
			report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Strategy: "grid"})
			s := report.Schedule
			if s == nil || s.Key != test.key || s.Verdict != test.verdict || math.Abs(s.Ratio-test.ratio) > 1e-12 {
				t.Fatalf("the schedule is %+v", s)
			}
			if closest := s.Closest; (closest != nil) != (test.closest != "") || closest != nil && closest.Key != test.closest {
				t.Errorf("the closest is %+v", closest)
			}
			if s.Unverified != (test.verdict == space.Unverified) || math.Abs(s.Cost*s.Ratio/s.Baseline.Cost-1) > 1e-12 || !reflect.DeepEqual(report.Baseline, s.Baseline) {
				t.Errorf("the numbers do not agree: %+v, beside %+v", s, report.Baseline)
			}
			if s.Search == nil || s.Search.Baseline != 60 || s.Key == "n=2" && s.Search.Cost != 51 {
				t.Errorf("the search saw %+v", s.Search)
			}
			if failed := verify(t, k, report.Dir); len(failed) > 0 {
				t.Errorf("verification fails: %q", failed)
			}
			var b strings.Builder
			if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", &b); err != nil || !strings.Contains(b.String(), `"`+test.key+`"`) {
				t.Errorf("an export has %v, %s", err, b.String())
			}
		})
	}
}

// TestFinalVerdictDies: a winner that dies in the series that confirms makes room for the next one.
func TestFinalVerdictDies(t *testing.T) {
	k := newMeasuredToy()
	k.compare = scripted(func(n int) kernels.Comparison { return compared(1.2, 1.1, 1.3) }, func(n int) kernels.Comparison {
		if n == 2 {
			return kernels.Comparison{Err: kernels.Reject(space.Crashed, "it died")}
		}
		return compared(1.2, 1.1, 1.3)
	})
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}})
	if report.Schedule == nil || report.Schedule.Key != "n=4" || len(report.Refused) != 1 || report.Refused[0].Key != "n=2" {
		t.Errorf("the schedule is %+v, refused are %v", report.Schedule, report.Refused)
	}
}

// TestFinalBaselineAlone: where the search has found nothing but the baseline, that is exported, and so it is where nothing else is
// right.
func TestFinalBaselineAlone(t *testing.T) {
	for _, only := range []bool{true, false} {
		k := newMeasuredToy()
		k.check = func(ctx context.Context, n int, seed uint64) error {
			if n != 20 && (only || slices.Contains(kernels.ExportSeeds(1), seed)) {
				return wrongAnswer(n)
			}
			return ctx.Err()
		}
		report := runToy(t, k, Options{Seed: 1, Strategy: "grid", Budget: search.Budget{Evaluations: 20}})
		if s := report.Schedule; s == nil || s.Key != "n=20" || s.Verdict != space.NoGain || s.Cost != s.Baseline.Cost || s.Ratio != 1 || s.Trial != 19 {
			t.Errorf("the schedule is %+v", s)
		} else if failed := verify(t, k, report.Dir); len(failed) > 0 {
			t.Errorf("verification fails: %q", failed)
		}
	}
}

// TestFinalTold: the last phase shows, and the time of all of it is told.
func TestFinalTold(t *testing.T) {
	k := newMeasuredToy()
	k.compare = func(p *measuredProblem, baseline int, finalists []int, s kernels.Series) (kernels.Final, error) {
		time.Sleep(20 * time.Millisecond)
		return honest(p, baseline, finalists, s)
	}
	var told []string
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Measuring: func(p kernels.ContestProgress) { told = append(told, p.String()) }})
	want := []string{"checking the finalists on fresh inputs", "measuring 5 finalists, pair 1 of up to 21", "checking the winner on fresh inputs", "confirming the winner, pair 1 of 21"}
	if !slices.Equal(told, want) {
		t.Errorf("it was told %q, want %q", told, want)
	}
	if report.Elapsed < report.Result.Elapsed+40*time.Millisecond || report.Schedule.ElapsedSeconds < (report.Result.Elapsed+40*time.Millisecond).Seconds() {
		t.Errorf("all of it took %v and %v s, and the search %v", report.Elapsed, report.Schedule.ElapsedSeconds, report.Result.Elapsed)
	}
}

// TestVerdictTampered: a verdict that the numbers do not bear is told, and so are numbers that do not agree. Schedules without a verdict
// are of earlier versions.
func TestVerdictTampered(t *testing.T) {
	faster := func(int) kernels.Comparison { return compared(1.2, 1.1, 1.3) }
	alike := func(int) kernels.Comparison { return compared(1, 0.9, 1.1) }
	for _, test := range []struct {
		name    string
		confirm func(int) kernels.Comparison
		tamper  func(*results.Schedule)
		want    string
	}{
		{"interval", faster, func(s *results.Schedule) { s.RatioInterval[0] = 0.99 }, `field verdict is "faster", and field ratio_interval begins at 0.99`},
		{"an interval that begins at 1", faster, func(s *results.Schedule) { s.RatioInterval[0] = 1 }, `field verdict is "faster", and field ratio_interval begins at 1`},
		{"no interval", faster, func(s *results.Schedule) { s.RatioInterval = nil }, `field verdict is "faster", and field ratio_interval is missing`},
		{"cost", faster, func(s *results.Schedule) { s.Cost /= 2 }, `field ratio is 1.2, and the costs give 2.4`},
		{"baseline", faster, func(s *results.Schedule) { s.Baseline.Cost *= 2 }, `field ratio is 1.2, and the costs give 2.4`},
		{"unverified", faster, func(s *results.Schedule) { s.Unverified = true }, `field verdict is "faster", and field unverified is true`},
		{"a gain that is none", faster, func(s *results.Schedule) { s.Verdict = space.NoGain }, `field verdict is "no gain", and the point is not the baseline`},
		{"no gain that is one", alike, func(s *results.Schedule) { s.Verdict = space.Faster }, `field verdict is "faster", and the point is the baseline`},
		{"the closest", alike, func(s *results.Schedule) {
			s.Closest.RatioInterval = &[2]float64{1, 1.1}
			s.Closest.RatioInterval[0] = 1.0000001
			s.Closest.Ratio *= 1.05
			s.Closest.Cost /= 1.05
		}, `field closest has an interval above 1`},
		{"the ratio of the closest", alike, func(s *results.Schedule) { s.Closest.Ratio = 1.05 }, `field closest.ratio is 1.05, and the costs give 1`},
		{"no gain at another cost", alike, func(s *results.Schedule) { s.Cost, s.Ratio = 2*s.Cost, s.Ratio/2 }, `field verdict is "no gain", and field cost is 2000`},
		{"an earlier version", faster, func(s *results.Schedule) { s.Verdict, s.Checked = "", ""; s.Cost = 7; s.Search = nil }, ""},
		{"no verdict", faster, func(s *results.Schedule) { s.Verdict = "" }, "field verdict is missing"},
	} {
		k := newMeasuredToy()
		k.compare = scripted(faster, test.confirm)
		report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}, Strategy: "grid"})
		tamper(t, report.Dir, test.tamper)
		// The numbers alone give it away, as where a run of an earlier version has kept no pairs.
		if err := os.Remove(filepath.Join(report.Dir, results.FinalName)); err != nil {
			t.Fatal(err)
		}
		failed := verify(t, k, report.Dir)
		if test.want == "" && len(failed) > 0 || test.want != "" && (len(failed) != 1 || !strings.Contains(failed[0], test.want)) {
			t.Errorf("%s: failed are %q, want %q", test.name, failed, test.want)
		}
	}
	exact := toy{size: 20}
	report := runToy(t, exact, Options{Budget: search.Budget{Evaluations: 20}})
	if report.Schedule.Verdict != space.Faster || report.Schedule.Search != nil {
		t.Errorf("of an exact kernel: %+v", report.Schedule)
	}
	tamper(t, report.Dir, func(s *results.Schedule) { s.Verdict = space.NoGain })
	if failed := verify(t, exact, report.Dir); len(failed) != 1 || !strings.Contains(failed[0], `field verdict is "no gain", and the costs`) {
		t.Errorf("of an exact kernel: %q", failed)
	}
}

// TestFinalFails: what is the tuner's fault is an error, and what the machine could not measure says so.
func TestFinalFails(t *testing.T) {
	k := newMeasuredToy()
	failure := errors.New("no core is left")
	k.compare = func(*measuredProblem, int, []int, kernels.Series) (kernels.Final, error) {
		return kernels.Final{}, failure
	}
	_, err := Run(t.Context(), Options{Kernel: k, Budget: search.Budget{Evaluations: 5}, Dir: filepath.Join(t.TempDir(), "run")})
	if !errors.Is(err, failure) {
		t.Errorf("Run returned %v", err)
	}
	k.compare = func(_ *measuredProblem, _ int, finalists []int, _ kernels.Series) (kernels.Final, error) {
		f := kernels.Final{Best: -1}
		for range finalists {
			f.Comparisons = append(f.Comparisons, kernels.Comparison{Unverified: true, Indistinct: true})
		}
		return f, nil
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 20}})
	if s := report.Schedule; s == nil || s.Key != "n=2" || s.Cost != 51 || !s.Unverified || s.RatioInterval != nil || s.MachineState != nil {
		t.Errorf("the schedule is %+v", s)
	}
}
