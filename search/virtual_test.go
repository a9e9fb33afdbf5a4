package search_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tune/search"
	"tune/search/random"
	"tune/search/searchtest"
	"tune/space"
)

func virtualSpace(t testing.TB) *space.Space {
	t.Helper()
	s, err := space.New("virtual", []space.Parameter{space.Range("a", 0, 19), space.Range("b", 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// virtualOutcome takes between 0 and 3 seconds, by the point alone; every seventh point fails.
func virtualOutcome(_ context.Context, trial space.Trial) (space.Outcome, error) {
	a, b := trial.Point.Int("a"), trial.Point.Int("b")
	o := space.Outcome{Status: space.OK, Cost: math.Abs(float64(a)-12.5) + float64(b)}
	if (a+b)%7 == 3 {
		o = space.Fail(space.Crashed, "seven")
	}
	o.Seconds = float64((a*7+b*3)%13) / 4
	return o, nil
}

func virtualRun(t testing.TB, s *space.Space, m *searchtest.Memory, set search.Settings) search.Result {
	t.Helper()
	set.Virtual, set.Recorder, set.History = true, m, m.History()
	// No clock may be read; only the time that a sitting took, which nobody looks at here, comes from one.
	set.Now = func() time.Time { return time.Unix(0, 0) }
	r, err := search.Run(t.Context(), random.New(s, 3), search.EvaluatorFunc(virtualOutcome), set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestVirtualEnd: what ends at the very end of the budget counts, and nothing after it.
func TestVirtualEnd(t *testing.T) {
	for wall, want := range map[time.Duration]int{3*time.Second - 1: 2, 3 * time.Second: 3, 3*time.Second + 1: 3} {
		ev := search.EvaluatorFunc(func(context.Context, space.Trial) (space.Outcome, error) {
			return space.Outcome{Status: space.OK, Cost: 1, Seconds: 1}, nil
		})
		r, err := search.Run(t.Context(), random.New(virtualSpace(t), 3), ev, search.Settings{Virtual: true, Budget: search.Budget{Wall: wall}})
		if err != nil || r.Stop != search.TimeSpent || r.Told != want || r.Elapsed != wall {
			t.Errorf("evaluations of a second, for %v: %+v, %v", wall, r, err)
		}
	}
}

// TestVirtualTime: a budget of simulated time ends when the workers have used it, and the journal has when each
// evaluation ended.
func TestVirtualTime(t *testing.T) {
	s := virtualSpace(t)
	var told []int
	for _, jobs := range []int{1, 2, 4, 16} {
		m := searchtest.NewMemory(space.History{})
		wall := 12 * time.Second
		var last time.Duration
		r := virtualRun(t, s, m, search.Settings{Jobs: jobs, Budget: search.Budget{Wall: wall}, Observe: func(e search.Event) {
			if e.Elapsed < last || e.Elapsed > wall {
				t.Errorf("%d jobs: an outcome at %v after one at %v", jobs, e.Elapsed, last)
			}
			last = e.Elapsed
		}})
		if r.Stop != search.TimeSpent || r.Elapsed != wall {
			t.Errorf("%d jobs: %v after %v", jobs, r.Stop, r.Elapsed)
		}
		h := m.History()
		work := 0.0
		for n, e := range h.Entries {
			work += e.Outcome.Seconds
			if e.Elapsed < e.Outcome.Seconds || e.Elapsed > wall.Seconds() {
				t.Errorf("%d jobs: trial %d of %v s ended at %v", jobs, n, e.Outcome.Seconds, e.Elapsed)
			}
		}
		if work > float64(jobs)*wall.Seconds() {
			t.Errorf("%d jobs did %v s of work in %v", jobs, work, wall)
		}
		for _, b := range h.Batches[1:] {
			if b.Progress.Left <= 0 || b.Progress.Left >= 1 {
				t.Errorf("%d jobs: batch %d was asked with %v left", jobs, b.Number, b.Progress.Left)
			}
		}
		told = append(told, r.Told)
	}
	if !slices.IsSorted(told) || told[0] == told[3] {
		t.Errorf("1, 2, 4 and 16 jobs came to %v outcomes", told)
	}
}

// TestVirtualResume: a simulated run that is cut anywhere, and one that gets its time in portions, are the same as one
// that never stopped.
func TestVirtualResume(t *testing.T) {
	s := virtualSpace(t)
	whole := searchtest.NewMemory(space.History{})
	virtualRun(t, s, whole, search.Settings{Jobs: 3, Budget: search.Budget{Wall: 60 * time.Second}})
	want := whole.History()
	// resumed has so much time and so many evaluations first, 0 for all, and then the rest.
	resumed := func(t interface{ Fatalf(string, ...any) }, at time.Duration, evals int) {
		m := searchtest.NewMemory(space.History{})
		for _, b := range []search.Budget{{Wall: at, Evaluations: evals}, {Wall: 60 * time.Second}} {
			set := search.Settings{Jobs: 3, Budget: b, Virtual: true, Recorder: m, History: m.History()}
			if _, err := search.Run(context.Background(), random.New(s, 3), search.EvaluatorFunc(virtualOutcome), set); err != nil {
				t.Fatalf("%v", err)
			}
		}
		got := m.History()
		for n, e := range want.Entries {
			if g, ok := got.Entries[n]; evals == 0 && (!ok || fmt.Sprint(g) != fmt.Sprint(e)) {
				t.Fatalf("trial %d is %v, want %v", n, g, e)
			}
		}
		if evals == 0 && len(got.Entries) != len(want.Entries) {
			t.Fatalf("%d outcomes, want %d", len(got.Entries), len(want.Entries))
		}
		if n, err := search.Replay(random.New(s, 3), got); err != nil || n != len(got.Entries) {
			t.Fatalf("a replay compares %d of %d: %v", n, len(got.Entries), err)
		}
	}
	for tenths := 1; tenths <= 600; tenths += 37 {
		resumed(t, time.Duration(tenths)*100*time.Millisecond, 0)
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Duration(rapid.IntRange(1, 600).Draw(t, "tenths of a second")) * 100 * time.Millisecond
		resumed(t, at, rapid.IntRange(0, len(want.Entries)).Draw(t, "evaluations"))
	})
}

// TestVirtualTarget: the run ends at the first trial, in the order asked, that reaches the target.
func TestVirtualTarget(t *testing.T) {
	s := virtualSpace(t)
	target := 1.5
	r := virtualRun(t, s, searchtest.NewMemory(space.History{}), search.Settings{Jobs: 4, Budget: search.Budget{Target: &target}})
	one := virtualRun(t, s, searchtest.NewMemory(space.History{}), search.Settings{Jobs: 1, Budget: search.Budget{Target: &target}})
	if r.Stop != search.TargetReached || r.Told != one.Told || r.Best.Trial.Number != r.Told-1 || r.Best.Outcome.Cost > target {
		t.Errorf("%+v, and with one worker %+v", r, one)
	}
	if r.Elapsed >= one.Elapsed {
		t.Errorf("four workers took %v, one %v", r.Elapsed, one.Elapsed)
	}
}

// TestVirtualEnds: without a limit the run ends with its space, and cancelled it ends at once.
func TestVirtualEnds(t *testing.T) {
	s := virtualSpace(t)
	if r := virtualRun(t, s, searchtest.NewMemory(space.History{}), search.Settings{Jobs: 2}); r.Stop != search.SpaceExhausted || r.Told != 200 {
		t.Errorf("%+v", r)
	}
	if r := virtualRun(t, s, searchtest.NewMemory(space.History{}), search.Settings{Jobs: 2, Budget: search.Budget{Evaluations: 33}}); r.Stop != search.EvaluationsSpent || r.Told != 33 {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r, err := search.Run(ctx, random.New(s, 1), search.EvaluatorFunc(func(c context.Context, trial space.Trial) (space.Outcome, error) {
		if n++; n == 20 {
			cancel()
			return space.Outcome{}, ctx.Err()
		}
		return virtualOutcome(c, trial)
	}), search.Settings{Virtual: true})
	if err != nil || r.Stop != search.Interrupted {
		t.Errorf("%v, %v", r.Stop, err)
	}
}
