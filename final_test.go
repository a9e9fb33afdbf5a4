package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	compare func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error)
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

func (p *measuredProblem) Compare(_ context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, limit time.Duration) (kernels.Final, error) {
	var numbers []int
	for _, f := range finalists {
		numbers = append(numbers, f.(*measuredCandidate).n)
	}
	return p.kernel.compare(p, baseline.(*measuredCandidate).n, numbers, limit)
}

// honest compares by what numbers cost, and cannot tell neighbours apart.
func honest(_ *measuredProblem, baseline int, finalists []int, _ time.Duration) (kernels.Final, error) {
	cost := func(n int) float64 { return 100 + float64(n) }
	f := kernels.Final{Machine: kernels.MachineState{Load: 1.5, Busy: 0.5, Drift: 0.01, Probes: 9}}
	best := slices.Index(finalists, slices.Min(finalists))
	for _, n := range finalists {
		r := cost(baseline) / cost(n)
		f.Comparisons = append(f.Comparisons, kernels.Comparison{
			Ratio: r, Low: 0.99 * r, High: 1.01 * r, Cost: cost(n), Baseline: cost(baseline), Pairs: 9,
			Metrics: []space.Metric{{Name: "final", Value: 1}}, Indistinct: n == finalists[best]+2,
		})
	}
	f.Best = best
	return f, nil
}

func newMeasuredToy() measuredToy {
	return measuredToy{toy{size: 20, noise: func() float64 { return 0 }}, honest}
}

// TestIndistinctOnce: the baseline's point, when it is a finalist too, is named once.
func TestIndistinctOnce(t *testing.T) {
	k := newMeasuredToy()
	k.size = 4
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		f, err := honest(p, baseline, finalists, limit)
		if !slices.Contains(finalists, baseline) {
			t.Errorf("the finalists are %v, without the baseline's %d", finalists, baseline)
		}
		for i := range f.Comparisons {
			f.Comparisons[i].Indistinct = true
		}
		return f, err
	}
	report := runToy(t, k, Options{Budget: search.Budget{Evaluations: 4}})
	if got := slices.Sorted(slices.Values(report.Schedule.IndistinctFrom)); !slices.Equal(got, []string{"n=2", "n=3", "n=4"}) {
		t.Errorf("not told apart from %v", got)
	}
}

// TestFinal: what is exported is what the final measurement says.
func TestFinal(t *testing.T) {
	var asked []int
	k := newMeasuredToy()
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		asked = finalists
		if baseline != 20 || limit <= 0 || limit > finalLimit {
			t.Errorf("compared with %d for %v", baseline, limit)
		}
		return honest(p, baseline, finalists, limit)
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

func (p *confinedProblem) MostFinalists() int { return p.room }

// TestFinalConfined: as many finalists are compared as there is room for.
func TestFinalConfined(t *testing.T) {
	for room, want := range map[int][]int{1: {2}, 3: {2, 4, 6}, 9: {2, 4, 6, 8, 10}} {
		var asked []int
		k := confinedToy{newMeasuredToy(), room}
		k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
			asked = finalists
			return honest(p, baseline, finalists, limit)
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
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		compared++
		f, err := honest(p, baseline, finalists, limit)
		f.Comparisons[3].Ratio, f.Comparisons[3].Low, f.Comparisons[3].High, f.Best = 9, 8, 10, 3
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
	if err := Export(t.Context(), kernels.Table{k}, report.Dir, "json", &b); err != nil || compared != before+1 || !strings.Contains(b.String(), `"n=8"`) {
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

func (p *threadedProblem) Threads(point space.Point) (int, error) {
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
		if n == 10 && seed == freshSeeds(1)[0] {
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	var asked []int
	fastest := 0
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		asked = finalists
		f, err := honest(p, baseline, finalists, limit)
		if i := slices.Index(finalists, fastest); i >= 0 {
			f.Comparisons[i].Ratio, f.Comparisons[i].Low, f.Comparisons[i].High, f.Best = 9, 8, 10, i
		}
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
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		asked = finalists
		f, err := honest(p, baseline, finalists, limit)
		f.Comparisons[len(finalists)-1].Ratio, f.Comparisons[len(finalists)-1].High, f.Best = 9, 10, len(finalists)-1
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

func (p *deviatingProblem) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, limit time.Duration) (kernels.Final, error) {
	plain := make([]kernels.Candidate, len(finalists))
	for i, f := range finalists {
		plain[i] = f.(*deviatingCandidate).measuredCandidate
	}
	return p.measuredProblem.Compare(ctx, baseline.(*deviatingCandidate).measuredCandidate, plain, limit)
}

func seedError(seed uint64) float64 { return float64(seed>>32) / (1 << 32) }

func (c *deviatingCandidate) Check(ctx context.Context, seed uint64) error {
	c.d.Add(seedError(seed), 1)
	return c.measuredCandidate.Check(ctx, seed)
}

func (c *deviatingCandidate) Deviation() kernels.Deviation { return c.d }

// TestFinalDeviation: a schedule has the largest error on all its inputs, outcomes that on the search's, and a
// verification that on its own.
func TestFinalDeviation(t *testing.T) {
	k := deviatingToy{newMeasuredToy()}
	report := runToy(t, k, Options{Seed: 3, Budget: search.Budget{Evaluations: 20}})
	largest := 0.0
	for _, seed := range freshSeeds(3) {
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
			if s.Metrics[i].Name == kernels.ErrorShareMetric {
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
	fresh := freshSeeds(7)
	k.check = func(ctx context.Context, n int, seed uint64) error {
		switch {
		case n == 2 && seed == fresh[0], n == 4 && seed == fresh[ExportChecks-1]:
			return wrongAnswer(n)
		}
		return ctx.Err()
	}
	k.compare = func(p *measuredProblem, baseline int, finalists []int, limit time.Duration) (kernels.Final, error) {
		f, err := honest(p, baseline, finalists, limit)
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

// TestFinalFails: what is the tuner's fault is an error, and what the machine could not measure says so.
func TestFinalFails(t *testing.T) {
	k := newMeasuredToy()
	failure := errors.New("no core is left")
	k.compare = func(*measuredProblem, int, []int, time.Duration) (kernels.Final, error) {
		return kernels.Final{}, failure
	}
	_, err := Run(t.Context(), Options{Kernel: k, Budget: search.Budget{Evaluations: 5}, Dir: filepath.Join(t.TempDir(), "run")})
	if !errors.Is(err, failure) {
		t.Errorf("Run returned %v", err)
	}
	k.compare = func(_ *measuredProblem, _ int, finalists []int, _ time.Duration) (kernels.Final, error) {
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

func TestFinalReserve(t *testing.T) {
	for _, test := range []struct {
		wall       time.Duration
		call       time.Duration
		evaluation time.Duration
		least      time.Duration
		most       time.Duration
	}{
		{0, time.Second, time.Second, 0, 0},
		{10 * time.Minute, time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second},
		{10 * time.Minute, 17 * time.Second, 55 * time.Second, 60 * time.Second, 150 * time.Second},
		{10 * time.Second, time.Millisecond, time.Second, 2 * time.Second, 2500 * time.Millisecond},
	} {
		got := finalReserve(test.wall, float64(test.call), test.evaluation)
		if got < test.least || got > test.most {
			t.Errorf("%s: %v is kept", fmt.Sprint(test), got)
		}
	}
}
