package schedule

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// guardRig is a rig whose pairs come from a function until the guard is sure, or a number of pairs is reached.
func guardRig(t *testing.T, most int, pair func(i int) (base, guarded float64)) *rig {
	r := &rig{space: spaceOf(t, "- {name: n, type: enum, values: [1, 2]}\n"), check: func(int) error { return nil }}
	r.compare = func(_ context.Context, base kernels.Candidate, others []kernels.Candidate, s kernels.Series) (kernels.Final, error) {
		if !s.Confirm || s.Sure == nil || base.(rigged).point.Key() != "n=1" || others[0].(rigged).point.Key() != "n=2" {
			t.Errorf("measured %v beside %v, %+v", others, base, s)
		}
		for i := range most {
			s.Observe(i+1, 0)
			if a, b := pair(i); s.Sure(a, b) {
				break
			}
		}
		return kernels.Final{Comparisons: []kernels.Comparison{{Cost: 2, Baseline: 4, Pairs: most}}}, nil
	}
	return r
}

// guardedSchedule is a schedule of n=2, recorded as twice as fast as the baseline n=1.
func guardedSchedule(r *rig) Side {
	return Side{Name: "best.json", Compiler: "old", Table: kernels.Table{r}, Schedule: results.Schedule{
		Kernel: "k", Unit: "ns", Key: "n=2", Point: []byte(`{"n":2}`), Baseline: results.Baseline{Preset: "baseline", Key: "n=1", Cost: 4},
		Cost: 2, Ratio: 2, RatioInterval: &[2]float64{1.98, 2.03}, Verdict: space.Faster}}
}

// TestGuard: the low end of the recorded interval is held, less the slack, and a guard ends as soon as it is sure.
func TestGuard(t *testing.T) {
	wave := func(i int) float64 { return 1 + 0.004*math.Sin(float64(i*i)) }
	share := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name  string
		ratio float64
		slack *float64
		most  int
		want  GuardStanding
		pairs int // at most
	}{
		{"as it was", 2, nil, 500, Holds, 15},
		{"faster", 3, nil, 500, Holds, 12},
		{"3 % slower than promised", 1.98 / 1.03, nil, 500, Slowed, 40},
		{"3 % slower with more slack", 1.98 / 1.03, share(0.05), 500, Holds, 20},
		{"at the bar", 1.98 / 1.02, nil, 60, CannotTell, 60},
		{"too little time", 2, nil, 4, CannotTell, 4},
		{"without slack", 1.97, share(0), 2000, Slowed, 200},
	} {
		r := guardRig(t, c.most, func(i int) (float64, float64) { return c.ratio * wave(i), wave(i + 1) })
		last := GuardProgress{}
		g, err := Guard(t.Context(), guardedSchedule(r), nil, GuardOptions{Seeds: []uint64{1}, Slack: c.slack, Observe: func(p GuardProgress) { last = p }})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if g.Standing != c.want || g.Pairs > c.pairs || g.Promise != 1.98 || g.Error != GuardErrorRate || last.Phase != Guarding || last.At != g.Pairs ||
			last.Left <= 0 || last.Left > measureLimit {
			t.Errorf("%s: %q after %d pairs, %+v, told %+v", c.name, g.Standing, g.Pairs, g, last)
		}
		if math.Abs(g.Ratio/c.ratio-1) > 0.01 {
			t.Errorf("%s: the ratio is %v", c.name, g.Ratio)
		}
		words := g.Words()
		if !strings.HasPrefix(words, string(c.want)) || strings.Contains(words, "NaN") || strings.Contains(words, "Inf") {
			t.Errorf("%s: %s", c.name, words)
		}
		if c.want == CannotTell && c.most == 4 && (g.NeedsPairs <= g.Pairs || g.NeedsSeconds <= 0) {
			t.Errorf("%s: it needs %d pairs, %v s", c.name, g.NeedsPairs, g.NeedsSeconds)
		}
		if by, least := g.SlowerBy(); c.want == Slowed && (least <= g.Slack || by < least) {
			t.Errorf("%s: slower by %v, at least %v", c.name, by, least)
		}
	}
}

// TestGuardPromises: what is guarded is at least the baseline's cost, and another schedule's where that is given.
func TestGuardPromises(t *testing.T) {
	r := guardRig(t, 500, func(int) (float64, float64) { return 1, 1 })
	weak := guardedSchedule(r)
	weak.Schedule.RatioInterval = &[2]float64{0.8, 2.2}
	if g, err := Guard(t.Context(), weak, nil, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Promise != 1 || g.Standing != Holds {
		t.Errorf("of a wide interval: %+v, %v", g, err)
	}
	weak.Schedule.RatioInterval = nil
	if g, err := Guard(t.Context(), weak, nil, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Promise != 1 || g.Recorded != 0 || g.Unproven != 2 || g.Standing != Holds {
		t.Errorf("without an interval: %+v, %v", g, err)
	}
	other := guardedSchedule(r)
	other.Name, other.Schedule.Key, other.Schedule.Point = "other.json", "n=1", []byte(`{"n":1}`)
	g, err := Guard(t.Context(), guardedSchedule(r), &other, GuardOptions{Seeds: []uint64{1}, Of: 4})
	if err != nil || g.Promise != 1 || g.Recorded != 0 || g.Against != "other.json" || g.Standing != Holds || g.Error != GuardErrorRate/4 {
		t.Errorf("against another: %+v, %v", g, err)
	}
	if g, err := Guard(t.Context(), other, nil, GuardOptions{Seeds: []uint64{1}}); err != nil || !g.Itself || g.Standing != Holds || g.Pairs != 0 {
		t.Errorf("of the baseline itself: %+v, %v", g, err)
	}
	other.Schedule.Unit = "cycles"
	if _, err := Guard(t.Context(), guardedSchedule(r), &other, GuardOptions{Seeds: []uint64{1}}); err == nil {
		t.Error("a guard against another unit")
	}
}

// TestGuardExact: an exact cost is held to the recorded one, or to what the other schedule costs now; without slack unless some is given.
func TestGuardExact(t *testing.T) {
	r := guardRig(t, 0, nil)
	for _, c := range []struct {
		now, slack float64 // -1 for the default
		want       GuardStanding
		words      string
	}{
		{2, -1, Holds, "holds: the cost is the same"},
		{1, -1, Holds, "holds: the cost differs by -50.0 %, and 0.0 % more are allowed"},
		{2.004, -1, Slowed, "slower: it costs 0.2 % more, and 0.0 % are allowed"},
		{2.02, 0.02, Holds, "holds: the cost differs by +1.0 %, and 2.0 % more are allowed"},
		{2.06, 0.02, Slowed, "slower: it costs 3.0 % more, and 2.0 % are allowed"},
	} {
		r.cost = func(int) float64 { return c.now }
		o := GuardOptions{Seeds: []uint64{1}}
		if c.slack >= 0 {
			o.Slack = &c.slack
		}
		g, err := Guard(t.Context(), guardedSchedule(r), nil, o)
		if err != nil || g.Standing != c.want || g.Words() != c.words || g.RecordedCost != 2 {
			t.Errorf("%+v: %+v, %v: %s", c, g, err, g.Words())
		}
	}
	for now, words := range map[float64]string{0: "holds: the cost is the same", 3: "slower: it costs 3 points instead of 0 points", -2: "holds: it costs -2 points instead of 0 points"} {
		r.cost = func(int) float64 { return now }
		free := guardedSchedule(r)
		free.Schedule.Unit, free.Schedule.Cost = "points", 0
		if g, err := Guard(t.Context(), free, nil, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Words() != words {
			t.Errorf("a recorded cost of 0, and %v now: %+v, %v", now, g, err)
		}
	}
	r.cost = func(n int) float64 { return 1.9 + 0.1*float64(n-1) }
	other := guardedSchedule(r)
	other.Name, other.Schedule.Key, other.Schedule.Point = "other.json", "n=1", []byte(`{"n":1}`)
	if g, err := Guard(t.Context(), guardedSchedule(r), &other, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Standing != Slowed || g.RecordedCost != 1.9 || g.Against != "other.json" {
		t.Errorf("against another: %+v, %v", g, err)
	}
}

// TestGuardWithin: where the file of a command says how far runs may differ, that is the interval, and no pair is needed.
func TestGuardWithin(t *testing.T) {
	r := guardRig(t, 0, nil)
	for want, ratio := range map[GuardStanding]float64{Holds: 2, Slowed: 1.9, CannotTell: 1.98 / 1.02} {
		r.compare = func(context.Context, kernels.Candidate, []kernels.Candidate, kernels.Series) (kernels.Final, error) {
			return kernels.Final{Comparisons: []kernels.Comparison{{Ratio: ratio, Low: ratio * 0.999, High: ratio * 1.001, Cost: 2, Baseline: 2 * ratio, Pairs: 2,
				Metrics: []space.Metric{{Name: space.MetricWithin, Value: 0.001}}}}}, nil
		}
		g, err := Guard(t.Context(), guardedSchedule(r), nil, GuardOptions{Seeds: []uint64{1}})
		if err != nil || g.Standing != want || g.Pairs != 2 || g.Error != 0 {
			t.Errorf("%s: %+v, %v", want, g, err)
		}
	}
}

// TestGuardFaults: a fault of what is guarded is its standing, and one of the other side an error.
func TestGuardFaults(t *testing.T) {
	r := guardRig(t, 5, func(int) (float64, float64) { return 1, 1 })
	guard := func() (*Guarded, error) {
		return Guard(t.Context(), guardedSchedule(r), nil, GuardOptions{Seeds: []uint64{1, 2}, Limit: time.Second})
	}
	wrong := func(at int) func(int) error {
		return func(n int) error {
			if n == at {
				return kernels.Reject(space.WrongAnswer, "bad")
			}
			return nil
		}
	}
	r.check = wrong(2)
	if g, err := guard(); err != nil || g.Standing != Broken || g.Words() != "broken: it is wrong: wrong answer: bad" {
		t.Errorf("%+v, %v", g, err)
	}
	r.check = wrong(1)
	if _, err := guard(); err == nil || !strings.Contains(err.Error(), "what it is compared with") {
		t.Errorf("a wrong baseline: %v", err)
	}
	r.check = func(int) error { return nil }
	gone := guardedSchedule(r)
	gone.Schedule.Key, gone.Schedule.Point = "n=7", []byte(`{"n":7}`)
	if g, err := Guard(t.Context(), gone, nil, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Standing != Broken || !strings.Contains(g.Words(), "cannot be built here: field point: ") {
		t.Errorf("%+v, %v", g, err)
	}
	for _, bad := range []error{kernels.Reject(space.Crashed, "gone"), errors.New("broken")} {
		r.compare = func(context.Context, kernels.Candidate, []kernels.Candidate, kernels.Series) (kernels.Final, error) {
			return kernels.Final{}, bad
		}
		if _, err := guard(); err == nil || !strings.Contains(err.Error(), kernelsReason(bad)) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	r.compare = func(context.Context, kernels.Candidate, []kernels.Candidate, kernels.Series) (kernels.Final, error) {
		return kernels.Final{Comparisons: []kernels.Comparison{{Err: kernels.Reject(space.Crashed, "gone")}}}, nil
	}
	if g, err := guard(); err != nil || g.Standing != Broken {
		t.Errorf("%+v, %v", g, err)
	}
}

// kernelsReason is the reason of an error.
func kernelsReason(err error) string {
	if r := kernels.AsRejection(err); r != nil {
		return r.Reason
	}
	return err.Error()
}

// TestGuardElsewhere: of a ratio that another processor gave, the guard knows which it was; what could not be guarded is broken, and
// on a machine that stays busy it cannot tell.
func TestGuardElsewhere(t *testing.T) {
	r := guardRig(t, 500, func(int) (float64, float64) { return 2, 1 })
	side := guardedSchedule(r)
	side.Schedule.Machine.CPU = "another"
	g, err := Guard(t.Context(), side, nil, GuardOptions{Seeds: []uint64{1}})
	if err != nil || g.Processor != "another" || g.ProcessorNow != results.ThisMachine().CPU {
		t.Errorf("%+v, %v", g, err)
	}
	other := side
	other.Schedule.Key, other.Schedule.Point = "n=1", []byte(`{"n":1}`)
	if g, err := Guard(t.Context(), side, &other, GuardOptions{Seeds: []uint64{1}}); err != nil || g.Processor != "" {
		t.Errorf("beside another schedule nothing recorded counts: %+v, %v", g, err)
	}
	if g := Unguarded("a", errors.New("no file")); g.Standing != Broken || g.Words() != "broken: it cannot be built here: no file" {
		t.Errorf("%+v: %s", g, g.Words())
	}
	busy, err := Guard(t.Context(), guardedSchedule(r), nil, GuardOptions{Seeds: []uint64{1}, Wait: 1}) // which is less than it takes to see that a machine is quiet
	if err != nil || busy.Standing != CannotTell || busy.Pairs != 0 || !strings.HasPrefix(busy.Words(), "cannot tell: the machine was not quiet within 1ns (") {
		t.Errorf("%+v, %v", busy, err)
	}
}
