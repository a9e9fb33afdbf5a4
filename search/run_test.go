package search_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tune/search"
	"tune/search/evolve"
	"tune/search/searchtest"
	"tune/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a space of n points, x=0 to x=n-1.
func line(t testing.TB, n int) *space.Space {
	t.Helper()
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, n-1)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// script asks for the points of a line in order, in batches of a fixed size, and keeps what it was shown.
type script struct {
	next     func() (space.Point, bool)
	size     int
	fidelity func(x int) int // nil for 0
	onTell   func(trials []space.Trial)

	progress []space.Progress
	told     []string
}

func newScript(s *space.Space, size int) *script {
	return &script{next: search.InOrder(s), size: size}
}

func (s *script) Ask(p space.Progress) []space.Proposal {
	s.progress = append(s.progress, p)
	proposals := search.Take(s.size, p, s.next)
	for i := range proposals {
		if s.fidelity != nil {
			proposals[i].Fidelity = s.fidelity(proposals[i].Point.Int("x"))
		}
	}
	return proposals
}

func (s *script) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if s.onTell != nil {
		s.onTell(trials)
	}
	for i, t := range trials {
		o := outcomes[i]
		o.Seconds = 0
		s.told = append(s.told, fmt.Sprintf("%d %s %+v", t.Number, t.Point, o))
	}
}

// counted is an evaluator that counts its calls and keeps which points it was given.
type counted struct {
	f func(ctx context.Context, x int) (space.Outcome, error)

	mu    sync.Mutex
	calls []int
}

func (c *counted) Evaluate(ctx context.Context, t space.Trial) (space.Outcome, error) {
	x := t.Point.Int("x")
	c.mu.Lock()
	c.calls = append(c.calls, x)
	c.mu.Unlock()
	return c.f(ctx, x)
}

// cost returns an evaluator whose costs are a function of x.
func cost(f func(x int) float64) *counted {
	return &counted{f: func(_ context.Context, x int) (space.Outcome, error) { return ok(f(x)), nil }}
}

func ok(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost} }

func up(x int) float64   { return float64(x) }
func down(x int) float64 { return -float64(x) }

func mustRun(t *testing.T, s search.Strategy, ev search.Evaluator, set search.Settings) search.Result {
	t.Helper()
	r, err := search.Run(t.Context(), s, ev, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// evals is a budget of n evaluations.
func evals(n int) search.Budget { return search.Budget{Evaluations: n} }

// target is a budget that ends at a cost of v.
func target(v float64) search.Budget { return search.Budget{Target: &v} }

func TestEvaluations(t *testing.T) {
	for _, jobs := range []int{0, 1, 2, 8} {
		for _, n := range []int{1, 5, 10, 11, 25, 99, 100} {
			ev := cost(down)
			r := mustRun(t, newScript(line(t, 100), 10), ev, search.Settings{Budget: evals(n), Jobs: jobs})
			if r.Stop != search.EvaluationsSpent || r.Told != n || r.Valid != n || len(ev.calls) != n {
				t.Errorf("with %d jobs a budget of %d ends with %d calls and %+v", jobs, n, len(ev.calls), r)
			}
			if r.Best.Trial.Number != n-1 || r.Best.Outcome.Cost != down(n-1) {
				t.Errorf("with %d jobs and a budget of %d the best is %+v", jobs, n, r.Best)
			}
		}
	}
}

func TestSpaceExhausted(t *testing.T) {
	for _, budget := range []search.Budget{{}, evals(30), {Wall: time.Hour}, target(-1)} {
		ev := cost(up)
		r := mustRun(t, newScript(line(t, 25), 10), ev, search.Settings{Budget: budget, Jobs: 3})
		if r.Stop != search.SpaceExhausted || r.Told != 25 || len(ev.calls) != 25 || r.Best.Trial.Number != 0 {
			t.Errorf("%+v ends with %+v", budget, r)
		}
	}
}

// The strategy is shown the budget at each barrier.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(line(t, 100), 10)
		ev := &counted{f: func(context.Context, int) (space.Outcome, error) { time.Sleep(time.Second); return ok(1), nil }}
		mustRun(t, s, ev, search.Settings{Budget: search.Budget{Evaluations: 25, Wall: 40 * time.Second}, Jobs: 1})
		want := []space.Progress{{Told: 0, Left: 1, Evaluations: 25}, {Told: 10, Left: 0.6, Evaluations: 15}, {Told: 20, Left: 0.2, Evaluations: 5}}
		if !slices.Equal(s.progress, want) {
			t.Errorf("the strategy was shown %+v, not %+v", s.progress, want)
		}
		s = newScript(line(t, 100), 10)
		mustRun(t, s, ev, search.Settings{Budget: search.Budget{Wall: 32 * time.Second}})
		if p := s.progress[1]; p != (space.Progress{Told: 10, Left: 1 - 10.0/32}) || len(s.progress) != 4 {
			t.Errorf("under a wall budget it was shown %+v", s.progress)
		}
		s = newScript(line(t, 20), 10)
		mustRun(t, s, cost(up), search.Settings{})
		if p := s.progress[1]; p != (space.Progress{Told: 10, Left: 1}) {
			t.Errorf("without a budget it was shown %+v", s.progress)
		}
	})
}

// Of the trials that reach the target the first in the order asked ends the run, although later ones end before it,
// and whatever the number of workers.
func TestTarget(t *testing.T) {
	costs := func(x int) float64 {
		switch x {
		case 13, 14, 20:
			return float64(x - 20) // 14 and 20 come later; 13 is the cheapest.
		case 5:
			return math.NaN()
		}
		return float64(100 - x)
	}
	for _, jobs := range []int{1, 2, 8, 30} {
		synctest.Test(t, func(t *testing.T) {
			ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
				time.Sleep(time.Duration(30-x) * time.Second)
				return ok(costs(x)), nil
			}}
			s, memory := newScript(line(t, 100), 30), &searchtest.Memory{}
			r := mustRun(t, s, ev, search.Settings{Budget: target(0), Jobs: jobs, Recorder: memory})
			if r.Stop != search.TargetReached || r.Told != 14 || r.Valid != 13 || r.Best.Trial.Number != 13 || r.Best.Outcome.Cost != -7 {
				t.Errorf("with %d jobs the run ends with %+v", jobs, r)
			}
			if len(s.told) > 0 {
				t.Errorf("with %d jobs the strategy hears of the batch that ends the run", jobs)
			}
			for number := range 14 {
				if _, ok := memory.History().Entries[number]; !ok {
					t.Errorf("with %d jobs the outcome of trial %d is not recorded", jobs, number)
				}
			}
			if jobs == 30 && len(ev.calls) != 30 {
				t.Errorf("%d evaluations were begun by 30 workers", len(ev.calls))
			}
			if jobs == 1 && len(ev.calls) != 14 {
				t.Errorf("%d evaluations were begun by one worker", len(ev.calls))
			}
		})
	}
}

// Trials after the one that reached the target are called off.
func TestTargetCallsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
			if x == 3 {
				time.Sleep(time.Second)
				return ok(0), nil
			}
			if x < 3 {
				time.Sleep(time.Minute)
				return ok(1), ctx.Err()
			}
			<-ctx.Done()
			if x == 4 {
				return space.Fail(space.Timeout, "it did not end"), nil
			}
			return space.Outcome{}, ctx.Err()
		}}
		memory := &searchtest.Memory{}
		r := mustRun(t, newScript(line(t, 100), 30), ev, search.Settings{Budget: target(0), Jobs: 8, Recorder: memory})
		if r.Stop != search.TargetReached || r.Told != 4 || r.Valid != 4 || r.Best.Trial.Number != 3 || r.Elapsed != time.Minute {
			t.Errorf("the run ends with %+v", r)
		}
		if numbers := recorded(memory); !slices.Equal(numbers, []int{0, 1, 2, 3}) {
			t.Errorf("trials %v are recorded", numbers)
		}
	})
}

// Of trials that reach the target one after the other the one that was asked first ends the run, though a later one that was called
// off comes to an end, and is better.
func TestTargetAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
			switch {
			case x < 4:
				time.Sleep(3 * time.Second)
				return ok(1), nil
			case x == 4:
				time.Sleep(time.Second)
				return ok(0), nil
			}
			time.Sleep(2 * time.Second)
			return ok(-float64(x)), nil
		}}
		r := mustRun(t, newScript(line(t, 100), 30), ev, search.Settings{Budget: target(0), Jobs: 8})
		if r.Stop != search.TargetReached || r.Told != 5 || r.Valid != 5 || r.Best.Trial.Number != 4 || r.Best.Outcome.Cost != 0 {
			t.Errorf("the run ends with %+v", r)
		}
	})
}

// recorded lists the trials whose outcomes are recorded.
func recorded(m *searchtest.Memory) []int {
	return slices.Sorted(maps.Keys(m.History().Entries))
}

// A cheap approximation reaches no target and is never the incumbent.
func TestFidelity(t *testing.T) {
	s := newScript(line(t, 10), 5)
	s.fidelity = func(x int) int { return (x + 1) % 2 }
	memory := &searchtest.Memory{}
	r := mustRun(t, s, cost(up), search.Settings{Budget: target(0), Jobs: 2, Recorder: memory})
	if r.Stop != search.SpaceExhausted || r.Told != 10 || r.Valid != 10 {
		t.Errorf("the run ends with %+v", r)
	}
	if r.Best.Trial.Number != 1 || r.Best.Outcome.Fidelity != 0 {
		t.Errorf("the incumbent is %+v", r.Best)
	}
	if e := memory.History().Entries[4]; e.Outcome.Fidelity != 1 {
		t.Errorf("an outcome at fidelity 1 is recorded as %+v", e)
	}
	cheap := newScript(line(t, 10), 5)
	cheap.fidelity = func(int) int { return 1 }
	if r := mustRun(t, cheap, cost(up), search.Settings{}); r.Told != 10 || r.Best.Outcome.Status != space.StatusUnset {
		t.Errorf("a run without a full score ends with %+v", r)
	}
}

// Of equal outcomes the one asked first is the incumbent, although the others end before it.
func TestTies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ev := &counted{f: func(_ context.Context, x int) (space.Outcome, error) {
			time.Sleep(time.Duration(10-x) * time.Second)
			switch {
			case x == 0:
				return space.Fail(space.Crashed, "it died"), nil
			case x < 3:
				return ok(2), nil
			}
			return ok(1), nil
		}}
		var numbers []int
		r := mustRun(t, newScript(line(t, 10), 10), ev, search.Settings{Jobs: 10, Observe: func(e search.Event) {
			numbers = append(numbers, e.Best.Trial.Number)
		}})
		if r.Best.Trial.Number != 3 || r.Valid != 9 || r.Told != 10 {
			t.Errorf("the run ends with %+v", r)
		}
		if want := []int{9, 8, 7, 6, 5, 4, 3, 3, 3, 3}; !slices.Equal(numbers, want) {
			t.Errorf("the incumbents were %v, not %v", numbers, want)
		}
	})
}

func TestNoIncumbent(t *testing.T) {
	ev := &counted{f: func(context.Context, int) (space.Outcome, error) { return space.Fail(space.WrongAnswer, "no"), nil }}
	r := mustRun(t, newScript(line(t, 10), 4), ev, search.Settings{Budget: target(1e300)})
	if r.Best.Outcome.Status != space.StatusUnset || r.Valid != 0 || r.Told != 10 || r.Stop != search.SpaceExhausted {
		t.Errorf("a run of failures ends with %+v", r)
	}
}

// A wall budget ends the run while evaluations are under way, and nothing is recorded of those.
func TestWall(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
				select {
				case <-ctx.Done():
					return space.Fail(space.Timeout, "it did not end"), nil
				case <-time.After(time.Duration(1+x/10*100) * time.Second):
					return ok(1), nil
				}
			}}
			s, memory := newScript(line(t, 100), 10), &searchtest.Memory{}
			r := mustRun(t, s, ev, search.Settings{Budget: search.Budget{Wall: time.Minute}, Jobs: jobs, Recorder: memory})
			if r.Stop != search.TimeSpent || r.Told != 10 || r.Elapsed != time.Minute || len(s.told) != 10 {
				t.Errorf("with %d jobs the run ends with %+v", jobs, r)
			}
			if numbers := recorded(memory); len(numbers) != 10 || len(ev.calls) != 10+jobs {
				t.Errorf("with %d jobs trials %v are recorded, and %v were begun", jobs, numbers, ev.calls)
			}
		})
	}
}

// What is kept for the time after the search follows the incumbent: the search ends sooner or later with each new one, and at once where
// its time is over already.
func TestReserve(t *testing.T) {
	kept := func(best space.Outcome, beside int) time.Duration {
		if best.Status == space.StatusUnset {
			return 0
		}
		if beside != 2 {
			t.Errorf("%d trials are said to be evaluated at once", beside)
		}
		return time.Duration(best.Cost) * time.Second
	}
	for _, c := range []struct {
		cost func(x int) float64
		ends time.Duration
	}{
		{func(x int) float64 { return 50 - float64(x) }, 54 * time.Second}, // the incumbent of 50 s costs 46
		{func(x int) float64 { return 50 + float64(x) }, 50 * time.Second},
		{func(int) float64 { return 99 }, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
				select {
				case <-ctx.Done():
					return space.Outcome{}, ctx.Err()
				case <-time.After(10 * time.Second):
					return ok(c.cost(x / 2)), nil
				}
			}}
			s := newScript(line(t, 100), 2)
			r := mustRun(t, s, ev, search.Settings{Budget: search.Budget{Wall: 100 * time.Second}, Jobs: 2, Reserve: kept})
			if r.Stop != search.TimeSpent || r.Elapsed != c.ends {
				t.Errorf("the run ends with %+v, want it after %v", r, c.ends)
			}
			if len(s.progress) > 1 && math.Abs(s.progress[1].Left-max(0, 1-10/(100-c.cost(0)))) > 1e-9 {
				t.Errorf("the second batch was shown %v of the budget", s.progress[1].Left)
			}
		})
	}
}

// On the real clock, a run with an evaluator that heeds its context ends soon after its time is spent.
func TestWallRealClock(t *testing.T) {
	ev := &counted{f: func(ctx context.Context, _ int) (space.Outcome, error) {
		<-ctx.Done()
		return space.Outcome{}, ctx.Err()
	}}
	began := time.Now()
	r := mustRun(t, newScript(line(t, 100), 10), ev, search.Settings{Budget: search.Budget{Wall: 20 * time.Millisecond}, Jobs: 2})
	if took := time.Since(began); r.Stop != search.TimeSpent || r.Told != 0 || took < 20*time.Millisecond || took > 5*time.Second {
		t.Errorf("a budget of 20 ms ends after %v with %+v", took, r)
	}
}

// The wall budget covers all sittings, and what the caller did before Run.
func TestWallOverSittings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sp, wall := line(t, 100), search.Budget{Wall: 100 * time.Second}
		ev := &counted{f: func(ctx context.Context, _ int) (space.Outcome, error) {
			select {
			case <-time.After(time.Second):
				return ok(1), nil
			case <-ctx.Done():
				return space.Outcome{}, ctx.Err()
			}
		}}
		memory := &searchtest.Memory{}
		r := mustRun(t, newScript(sp, 10), ev, search.Settings{Budget: evals(20), Recorder: memory})
		if r.Elapsed != 20*time.Second || memory.History().Elapsed != 20 {
			t.Fatalf("20 evaluations take %v; the history says %v s", r.Elapsed, memory.History().Elapsed)
		}
		// The second sitting has 80 s left, of which its caller has spent 30.5 already.
		began := time.Now()
		time.Sleep(30500 * time.Millisecond)
		s := newScript(sp, 10)
		r = mustRun(t, s, ev, search.Settings{Budget: wall, Recorder: memory, History: memory.History(), Began: began})
		if r.Stop != search.TimeSpent || r.Told != 69 || r.Elapsed != 100*time.Second || time.Since(began) != 80*time.Second {
			t.Errorf("the second sitting ends after %v with %+v", time.Since(began), r)
		}
		if left := s.progress[2].Left; math.Abs(left-0.495) > 1e-12 {
			t.Errorf("the first new batch was shown %v of the budget", left)
		}
		for number, e := range memory.History().Entries {
			if want := float64(number+1) + 30.5*float64(min(number/20, 1)); math.Abs(e.Elapsed-want) > 1e-9 {
				t.Fatalf("trial %d was known after %v s, not %v", number, e.Elapsed, want)
			}
		}
		// Nothing is left for a third: it goes through the history, and asks no more.
		calls, h := len(ev.calls), memory.History()
		h.Elapsed = r.Elapsed.Seconds()
		again := mustRun(t, newScript(sp, 10), ev, search.Settings{Budget: wall, History: h})
		if again.Stop != search.TimeSpent || again.Told != r.Told || len(ev.calls) != calls {
			t.Errorf("the third sitting begins %d evaluations and ends with %+v", len(ev.calls)-calls, again)
		}
	})
}

// The limit that is reached first ends a run.
func TestFirstLimit(t *testing.T) {
	nine, never := -9.0, -1e9
	for _, c := range []struct {
		budget search.Budget
		want   search.Stop
		told   int
	}{
		{search.Budget{Evaluations: 30, Wall: time.Hour, Target: &never}, search.EvaluationsSpent, 30},
		{search.Budget{Evaluations: 90, Wall: 15 * time.Second, Target: &never}, search.TimeSpent, 14},
		{search.Budget{Evaluations: 90, Wall: time.Hour, Target: &nine}, search.TargetReached, 10},
		{search.Budget{Evaluations: 10, Wall: time.Hour, Target: &nine}, search.TargetReached, 10},
		{search.Budget{Evaluations: 9, Wall: time.Hour, Target: &nine}, search.EvaluationsSpent, 9},
		{search.Budget{Evaluations: 200, Wall: time.Hour, Target: &never}, search.SpaceExhausted, 100},
	} {
		synctest.Test(t, func(t *testing.T) {
			ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
				select {
				case <-time.After(1050 * time.Millisecond):
					return ok(down(x)), nil
				case <-ctx.Done():
					return space.Outcome{}, ctx.Err()
				}
			}}
			r := mustRun(t, newScript(line(t, 100), 7), ev, search.Settings{Budget: c.budget})
			if r.Stop != c.want || r.Told != c.told {
				t.Errorf("%+v ends with %v after %d, not with %v after %d", c.budget, r.Stop, r.Told, c.want, c.told)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 12500*time.Millisecond)
		defer cancel()
		ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
			select {
			case <-time.After(time.Second):
				return ok(up(x)), nil
			case <-ctx.Done():
				return space.Outcome{}, ctx.Err()
			}
		}}
		s, memory := newScript(line(t, 100), 10), &searchtest.Memory{}
		r, err := search.Run(ctx, s, ev, search.Settings{Recorder: memory, Budget: search.Budget{Wall: time.Hour}})
		if err != nil || r.Stop != search.Interrupted || r.Told != 12 || len(s.told) != 10 || len(recorded(memory)) != 12 {
			t.Errorf("a cancelled run ends with %+v, %v; %d told, %d recorded", r, err, len(s.told), len(recorded(memory)))
		}
		if calls := memory.Calls(); calls[len(calls)-1] != "sync" {
			t.Errorf("a cancelled run ends with the call %q", calls[len(calls)-1])
		}
		memory = &searchtest.Memory{}
		r, err = search.Run(ctx, newScript(line(t, 100), 10), ev, search.Settings{Recorder: memory})
		if err != nil || r.Stop != search.Interrupted || r.Told != 0 || len(ev.calls) != 13 || len(memory.History().Batches) > 0 {
			t.Errorf("a run that begins cancelled ends with %+v, %v, and the calls %v", r, err, memory.Calls())
		}
	})
}

// A failure that arrives after the context ended may be the fault of its end, and is not kept. A score is.
func TestOutcomesAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var begun sync.WaitGroup
	begun.Add(4)
	ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
		begun.Done()
		<-ctx.Done()
		switch x {
		case 0:
			return space.Fail(space.Timeout, "it did not end"), nil
		case 1:
			panic("it was called off")
		case 2:
			return ok(2), nil
		}
		return space.Outcome{}, errors.New("broken pipe")
	}}
	go func() {
		begun.Wait()
		cancel()
	}()
	memory := &searchtest.Memory{}
	r, err := search.Run(ctx, newScript(line(t, 10), 10), ev, search.Settings{Jobs: 4, Recorder: memory})
	if err != nil || r.Stop != search.Interrupted || r.Told != 1 || !slices.Equal(recorded(memory), []int{2}) {
		t.Errorf("the run ends with %+v, %v; recorded are %v", r, err, recorded(memory))
	}
}

// watched keeps what a strategy is told.
type watched struct {
	search.Strategy
	told strings.Builder
}

func (w *watched) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		o := outcomes[i]
		o.Seconds = 0
		fmt.Fprintf(&w.told, "%d %s %+v\n", t.Number, t.Point, o)
	}
	w.Strategy.Tell(trials, outcomes)
}

// Evaluations of random durations end in any order; what a strategy hears does not depend on it.
func TestJobsChangeNothing(t *testing.T) {
	sp, err := space.New("square", []space.Parameter{space.Range("x", 0, 99), space.Range("y", 0, 99)})
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for i, jobs := range []int{1, 2, 8, 8, 8} {
		synctest.Test(t, func(t *testing.T) {
			inner, err := evolve.New(sp, 1, evolve.Config{})
			if err != nil {
				t.Fatal(err)
			}
			w := &watched{Strategy: inner}
			ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
				time.Sleep(rand.N(10 * time.Second))
				x, y := t.Point.Int("x"), t.Point.Int("y")
				if (x+y)%7 == 0 {
					return space.Fail(space.CompileFailed, "%d and %d", x, y), nil
				}
				return ok(float64((x-30)*(x-30) + (y-60)*(y-60))), nil
			})
			mustRun(t, w, ev, search.Settings{Budget: evals(300), Jobs: jobs})
			if i == 0 {
				want = w.told.String()
			}
			if got := w.told.String(); got != want || strings.Count(got, "\n") != 300 {
				t.Errorf("with %d jobs the strategy was told\n%s\nand with one\n%s", jobs, got, want)
			}
		})
	}
}

// There are as many evaluations at once as there are jobs, and no more.
func TestJobs(t *testing.T) {
	for _, jobs := range []int{0, 1, 3, 10, 50} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int64
			ev := &counted{f: func(context.Context, int) (space.Outcome, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return ok(1), nil
			}}
			r := mustRun(t, newScript(line(t, 60), 20), ev, search.Settings{Jobs: jobs})
			workers := min(max(jobs, 1), 20)
			if most.Load() != int64(workers) || r.Elapsed != 3*time.Duration((20+workers-1)/workers)*time.Second {
				t.Errorf("with %d jobs there were %d at once, and it took %v", jobs, most.Load(), r.Elapsed)
			}
		})
	}
}

// A panic is an outcome, and its reason says where it came from.
func TestPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"panic: boom":                   func() { panic("boom") },
		"panic: runtime error: integer": func() { zero := 0; _ = 1 / zero },
		"panic: runtime error: invalid": func() { var p *search.Result; p.Told = 1 },
		"panic: runtime error: index":   func() { var a []int; a[len(name(a))] = 1 },
	} {
		ev := &counted{f: func(_ context.Context, x int) (space.Outcome, error) {
			if x == 3 {
				f()
			}
			return ok(1), nil
		}}
		memory := &searchtest.Memory{}
		r := mustRun(t, newScript(line(t, 10), 5), ev, search.Settings{Jobs: 2, Recorder: memory})
		o := memory.History().Entries[3].Outcome
		if r.Told != 10 || r.Valid != 9 || o.Status != space.Crashed {
			t.Errorf("%s: the run ends with %+v; the outcome is %+v", name, r, o)
		}
		if place := regexp.MustCompile(` at run_test\.go:\d+$`); !strings.HasPrefix(o.Reason, name) || !place.MatchString(o.Reason) {
			t.Errorf("the reason of a panic is %q, which does not begin with %q or does not say where", o.Reason, name)
		}
	}
}

// An evaluation that ends its goroutine, as the FailNow of a test does, costs only its point.
func TestExit(t *testing.T) {
	for _, jobs := range []int{1, 2, 4} {
		ev := &counted{f: func(_ context.Context, x int) (space.Outcome, error) {
			if x == 3 || x == 4 {
				runtime.Goexit()
			}
			return ok(1), nil
		}}
		memory := &searchtest.Memory{}
		r := mustRun(t, newScript(line(t, 10), 5), ev, search.Settings{Jobs: jobs, Recorder: memory})
		if r.Told != 10 || r.Valid != 8 || r.Stop != search.SpaceExhausted {
			t.Errorf("with %d jobs the run ends with %+v", jobs, r)
		}
		crashed := 0
		for _, e := range memory.History().Entries {
			if o := e.Outcome; o.Status == space.Crashed && o.Reason == "ended its goroutine (runtime.Goexit)" && (e.Number == 3 || e.Number == 4) {
				crashed++
			}
		}
		if crashed != 2 {
			t.Errorf("with %d jobs %d outcomes say what happened: %+v", jobs, crashed, memory.History().Entries)
		}
	}
}

// A run whose observer ends the goroutine has not spent its evaluations.
func TestObserverExits(t *testing.T) {
	ev := &counted{f: func(context.Context, int) (space.Outcome, error) { return ok(1), nil }}
	_, err := search.Run(t.Context(), newScript(line(t, 10), 5), ev, search.Settings{Observe: func(e search.Event) {
		if e.Known == 3 {
			runtime.Goexit()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "trial 2 has no outcome") {
		t.Errorf("the run ends with %v", err)
	}
}

// BenchmarkEvaluations is the cost of an evaluation that takes no time.
func BenchmarkEvaluations(b *testing.B) {
	ev := &counted{f: func(context.Context, int) (space.Outcome, error) { return ok(1), nil }}
	s := line(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := search.Run(b.Context(), newScript(s, 1000), ev, search.Settings{}); err != nil {
			b.Fatal(err)
		}
	}
}

// name keeps the compiler from seeing an index at compile time.
func name(a []int) string { return fmt.Sprint(a) }

// What no journal can keep is the fault of the candidate that returned it.
func TestUnusableOutcomes(t *testing.T) {
	for _, c := range []struct {
		outcome space.Outcome
		reason  string
	}{
		{ok(math.NaN()), "its cost is NaN"},
		{ok(math.Inf(-1)), "its cost is -Inf"},
		{space.Outcome{}, "it has no status"},
		{space.Outcome{Status: 99}, "it has no status"},
		{space.Outcome{Status: space.OK, Seconds: -1}, "it took -1 s"},
		{space.Outcome{Status: space.OK, Metrics: []space.Metric{{Name: "b"}, {Name: "a"}}}, "its metrics are not ordered by name"},
		{space.Outcome{Status: space.OK, Metrics: []space.Metric{{Name: "a", Value: math.NaN()}}}, "its metric a is NaN"},
	} {
		s, memory := newScript(line(t, 1), 5), &searchtest.Memory{}
		ev := &counted{f: func(context.Context, int) (space.Outcome, error) { return c.outcome, nil }}
		r := mustRun(t, s, ev, search.Settings{Recorder: memory, Budget: target(0)})
		o := memory.History().Entries[0].Outcome
		if o.Status != space.Crashed || !strings.HasPrefix(o.Reason, "the outcome cannot be used: "+c.reason) || r.Best.Outcome.Status != space.StatusUnset {
			t.Errorf("%+v is recorded as %+v", c.outcome, o)
		}
		if len(s.told) != 1 || !strings.Contains(s.told[0], c.reason) {
			t.Errorf("%+v is told as %q", c.outcome, s.told)
		}
	}
}

func TestReason(t *testing.T) {
	memory := &searchtest.Memory{}
	ev := &counted{f: func(context.Context, int) (space.Outcome, error) {
		return space.Outcome{Status: space.Crashed, Reason: "\xff" + strings.Repeat("é", 5000)}, nil
	}}
	mustRun(t, newScript(line(t, 1), 1), ev, search.Settings{Recorder: memory})
	reason := memory.History().Entries[0].Outcome.Reason
	if len(reason) > 2010 || !strings.HasPrefix(reason, "\uFFFDéé") || !strings.HasSuffix(reason, "…") || strings.ToValidUTF8(reason, "") != reason {
		t.Errorf("the reason has %d bytes: %q", len(reason), reason)
	}
}

// An error of the evaluator ends the run, and what was recorded before stands.
func TestEvaluatorError(t *testing.T) {
	broken := errors.New("the compiler is gone")
	for _, jobs := range []int{1, 8} {
		ev := &counted{f: func(ctx context.Context, x int) (space.Outcome, error) {
			if x == 17 {
				return space.Outcome{}, broken
			}
			if x > 17 {
				<-ctx.Done() // The others are called off.
				return space.Outcome{}, ctx.Err()
			}
			return ok(up(x)), nil
		}}
		s, memory := newScript(line(t, 100), 10), &searchtest.Memory{}
		r, err := search.Run(t.Context(), s, ev, search.Settings{Jobs: jobs, Recorder: memory})
		if !errors.Is(err, broken) || r.Stop != search.StopUnset {
			t.Errorf("with %d jobs the run ends with %+v, %v", jobs, r, err)
		}
		if numbers := recorded(memory); len(numbers) < 10 || len(numbers) != r.Told || len(s.told) != 10 || jobs == 1 && len(numbers) != 17 {
			t.Errorf("with %d jobs %d are told, and recorded are %v", jobs, len(s.told), numbers)
		}
		if calls := memory.Calls(); calls[len(calls)-1] != "sync" {
			t.Errorf("with %d jobs the run ends with the call %q", jobs, calls[len(calls)-1])
		}
	}
}

// An error of the recorder ends the run before the strategy hears of anything that may not be recorded.
func TestRecorderError(t *testing.T) {
	full := errors.New("the disk is full")
	for _, c := range []struct {
		call  string
		nth   int // of that call
		told  int
		calls int
	}{
		{"batch 0", 1, 0, 0}, {"batch 1", 1, 10, 10}, {"record 0", 1, 0, 1}, {"record 15", 1, 10, 16}, {"sync", 1, 0, 10}, {"sync", 2, 10, 20},
	} {
		n := 0
		memory := &searchtest.Memory{Fail: func(call string) error {
			if call == c.call {
				if n++; n == c.nth {
					return full
				}
			}
			return nil
		}}
		s, ev := newScript(line(t, 100), 10), cost(up)
		r, err := search.Run(t.Context(), s, ev, search.Settings{Recorder: memory})
		if !errors.Is(err, full) || r.Stop != search.StopUnset || len(s.told) != c.told || len(ev.calls) != c.calls {
			t.Errorf("%s %d: the run ends with %+v, %v; %d told, %d evaluated", c.call, c.nth, r, err, len(s.told), len(ev.calls))
		}
	}
}

// The last Sync of a run counts too.
func TestLastSyncError(t *testing.T) {
	full := errors.New("the disk is full")
	syncs := 0
	memory := &searchtest.Memory{Fail: func(call string) error {
		if call == "sync" {
			if syncs++; syncs == 3 {
				return full
			}
		}
		return nil
	}}
	if _, err := search.Run(t.Context(), newScript(line(t, 20), 10), cost(up), search.Settings{Recorder: memory}); !errors.Is(err, full) {
		t.Errorf("the run ends with %v", err)
	}
}

// A recorder that says the same of each Sync is quoted once, and one that says something else at the end as well.
func TestSyncErrorsAreSaidOnce(t *testing.T) {
	full, gone := errors.New("the disk is full"), errors.New("the disk is gone")
	for want, errs := range map[string][]error{"the disk is full": {full, full}, "the disk is full\nthe disk is gone": {full, gone}} {
		syncs := 0
		memory := &searchtest.Memory{Fail: func(call string) error {
			if call == "sync" {
				syncs++
				return errs[syncs-1]
			}
			return nil
		}}
		_, err := search.Run(t.Context(), newScript(line(t, 20), 10), cost(up), search.Settings{Recorder: memory})
		if err == nil || err.Error() != want || syncs != 2 {
			t.Errorf("after %d syncs the run ends with %v, want %s", syncs, err, want)
		}
	}
}

// The recorder has a batch before it is evaluated, its outcomes before the strategy is told, and is asked to make
// them durable in between. That holds for what a resumed run adds to a batch as well.
func TestRecordedBeforeTold(t *testing.T) {
	sp := line(t, 30)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(up), search.Settings{Recorder: whole})
	for _, c := range []struct {
		name    string
		history space.History
		syncs   int // those before a Tell, and the last
	}{
		{"a new run", space.History{}, 4},
		{"within a batch", searchtest.Cut(whole.History(), 2, func(n int) bool { return n%3 == 0 }), 3},
		{"at a barrier", searchtest.Cut(whole.History(), 2, func(int) bool { return true }), 2},
		{"before a batch", searchtest.Cut(whole.History(), 2, func(int) bool { return false }), 3},
	} {
		memory, s := searchtest.NewMemory(c.history), newScript(sp, 10)
		ev := &counted{f: func(_ context.Context, x int) (space.Outcome, error) {
			if len(memory.History().Batches) <= x/10 {
				t.Errorf("%s: trial %d is evaluated before its batch is recorded", c.name, x)
			}
			return ok(up(x)), nil
		}}
		s.onTell = func(trials []space.Trial) {
			h := memory.History()
			for _, trial := range trials {
				if _, ok := h.Entries[trial.Number]; !ok {
					t.Errorf("%s: trial %d is told before it is recorded", c.name, trial.Number)
				}
			}
			if calls := memory.Calls(); len(calls) > 0 && calls[len(calls)-1] != "sync" {
				t.Errorf("%s: trials from %d are told after the call %q", c.name, trials[0].Number, calls[len(calls)-1])
			}
		}
		mustRun(t, s, ev, search.Settings{Recorder: memory, History: c.history, Jobs: 3})
		syncs := 0
		for _, call := range memory.Calls() {
			if call == "sync" {
				syncs++
			}
		}
		if syncs != c.syncs {
			t.Errorf("%s: there were %d calls of Sync, not %d: %v", c.name, syncs, c.syncs, memory.Calls())
		}
		if d := searchtest.Difference(memory.History(), whole.History()); d != "" {
			t.Errorf("%s: the run differs from one without a break: %s", c.name, d)
		}
	}
}

// Outcomes that are known are told, counted and observed, and not evaluated again.
func TestHistory(t *testing.T) {
	sp := line(t, 40)
	whole := &searchtest.Memory{}
	first := newScript(sp, 10)
	want := mustRun(t, first, cost(down), search.Settings{Recorder: whole})
	known := func(n int) bool { return n%2 == 0 }
	h := searchtest.Cut(whole.History(), 3, known)
	s, ev := newScript(sp, 10), cost(down)
	var observed []int
	got := mustRun(t, s, ev, search.Settings{History: h, Observe: func(e search.Event) { observed = append(observed, e.Trial.Number) }})
	if !slices.Equal(ev.calls, []int{21, 23, 25, 27, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}) {
		t.Errorf("evaluated were %v", ev.calls)
	}
	if !slices.Equal(s.told, first.told) || got.Told != want.Told || got.Valid != want.Valid || got.Best.Trial.Number != want.Best.Trial.Number || got.Stop != want.Stop {
		t.Errorf("the run ends with %+v, without a break with %+v", got, want)
	}
	if slices.Sort(observed); len(observed) != 40 || observed[39] != 39 {
		t.Errorf("observed were %v", observed)
	}
}

// The history has the last word where a budget is smaller than it was; of a batch that is not complete, no trial
// past the budget is evaluated.
func TestSmallerBudget(t *testing.T) {
	sp := line(t, 100)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(down), search.Settings{Recorder: whole, Budget: evals(30)})
	for _, c := range []struct {
		budget    int
		known     func(int) bool
		evaluated []int
		told      int
	}{
		{15, func(int) bool { return true }, nil, 30},
		{25, func(n int) bool { return n == 21 }, []int{20, 22, 23, 24}, 25},
		{25, func(n int) bool { return n == 21 || n == 27 }, []int{20, 22, 23, 24}, 26},
		{5, func(n int) bool { return n == 21 }, nil, 21},
		{30, func(n int) bool { return n < 28 }, []int{28, 29}, 30},
	} {
		ev := cost(down)
		r := mustRun(t, newScript(sp, 10), ev, search.Settings{Budget: evals(c.budget), History: searchtest.Cut(whole.History(), 3, c.known)})
		if r.Stop != search.EvaluationsSpent || r.Told != c.told || !slices.Equal(ev.calls, c.evaluated) {
			t.Errorf("with a budget of %d, %v are evaluated, and the run ends with %+v", c.budget, ev.calls, r)
		}
	}
}

// A larger budget completes the last batch as it was asked, however little of it is known, and goes on from there.
func TestLargerBudget(t *testing.T) {
	sp := line(t, 100)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(up), search.Settings{Recorder: whole, Budget: evals(26)})
	for _, known := range []func(int) bool{
		func(int) bool { return true }, func(n int) bool { return n%2 == 0 }, func(int) bool { return false },
	} {
		memory := searchtest.NewMemory(searchtest.Cut(whole.History(), 3, known))
		s, before := newScript(sp, 10), len(memory.History().Entries)
		ev := cost(up)
		r := mustRun(t, s, ev, search.Settings{Budget: evals(50), Recorder: memory, History: memory.History(), Jobs: 2})
		if r.Stop != search.EvaluationsSpent || r.Told != 50 || len(ev.calls) != 50-before || len(s.told) != 50 {
			t.Errorf("%d evaluations are made beside %d, and the run ends with %+v", len(ev.calls), before, r)
		}
		var counts []int
		for _, b := range memory.History().Batches {
			counts = append(counts, b.Count)
		}
		if !slices.Equal(counts, []int{10, 10, 6, 10, 10, 4}) {
			t.Errorf("the batches are %v", counts)
		}
		if n, err := search.Replay(newScript(sp, 10), memory.History()); n != 50 || err != nil {
			t.Errorf("a replay agrees on %d: %v", n, err)
		}
	}
}

// A target that a recorded outcome reaches ends the run there, once all before it are known.
func TestTargetInHistory(t *testing.T) {
	sp := line(t, 100)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(down), search.Settings{Recorder: whole, Budget: evals(40)})
	for _, c := range []struct {
		target    float64
		known     func(int) bool // of the last batch
		evaluated []int
	}{
		{-14, func(int) bool { return true }, nil},
		{-35, func(int) bool { return true }, nil},
		{-35, func(n int) bool { return n == 35 || n == 33 || n == 38 }, []int{30, 31, 32, 34}},
		{-35, func(n int) bool { return n == 38 }, []int{30, 31, 32, 33, 34, 35}},
		{-35, func(n int) bool { return n == 35 || n == 34 }, []int{30, 31, 32, 33}},
	} {
		ev := cost(down)
		set := search.Settings{Budget: target(c.target), History: searchtest.Cut(whole.History(), 4, c.known)}
		r := mustRun(t, newScript(sp, 10), ev, set)
		hit := int(-c.target)
		if r.Stop != search.TargetReached || r.Told != hit+1 || r.Valid != hit+1 || r.Best.Trial.Number != hit || !slices.Equal(ev.calls, c.evaluated) {
			t.Errorf("with a target of %v, %v are evaluated, and the run ends with %+v", c.target, ev.calls, r)
		}
	}
	// Where the budget does not reach to the trials before it, the run ends for want of evaluations.
	set := search.Settings{Budget: target(-35), History: searchtest.Cut(whole.History(), 4, func(n int) bool { return n == 35 })}
	set.Budget.Evaluations = 33
	ev := cost(down)
	if r := mustRun(t, newScript(sp, 10), ev, set); r.Stop != search.EvaluationsSpent || r.Told != 34 || !slices.Equal(ev.calls, []int{30, 31, 32}) {
		t.Errorf("%v are evaluated, and the run ends with %+v", ev.calls, r)
	}
}

func TestHistoryMismatch(t *testing.T) {
	sp := line(t, 100)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(up), search.Settings{Recorder: whole, Budget: evals(30)})
	otherwise := newScript(sp, 10)
	otherwise.fidelity = func(x int) int { return x / 15 }
	shifted := newScript(sp, 10)
	shifted.next()
	for _, c := range []struct {
		name     string
		strategy search.Strategy
		want     string
	}{
		{"size", newScript(sp, 15), "search: batch 0 asks for 15 points, but 10 were recorded: the strategy, its settings or the space have changed"},
		{"none", newScript(line(t, 10), 10), "search: batch 1 asks for 0 points, but 10 were recorded: the strategy, its settings or the space have changed"},
		{"point", shifted, `search: trial 0 asks for "x=1" at fidelity 0, but "x=0" at 0 was recorded: the strategy, its settings or the space have changed`},
		{"fidelity", otherwise, `search: trial 15 asks for "x=15" at fidelity 1, but "x=15" at 0 was recorded: the strategy, its settings or the space have changed`},
	} {
		ev := cost(up)
		_, err := search.Run(t.Context(), c.strategy, ev, search.Settings{History: whole.History(), Budget: evals(30)})
		if err == nil || err.Error() != c.want || len(ev.calls) > 0 {
			t.Errorf("%s: %d evaluations, and the error\n%v, not\n%s", c.name, len(ev.calls), err, c.want)
		}
	}
	for _, c := range []struct {
		name     string
		strategy search.Strategy
		compared int
		want     string
	}{
		{"size", newScript(sp, 15), 0, "batch 0 asks for 15 points, but 10 were recorded"},
		{"none", newScript(line(t, 10), 10), 10, "batch 1 asks for 0 points, but 10 were recorded"},
		{"right", newScript(sp, 10), 30, ""},
	} {
		n, err := search.Replay(c.strategy, whole.History())
		if n != c.compared || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the replay compares %d: %v", c.name, n, err)
		}
	}
	// No batch is asked before the one before it is told.
	h := whole.History()
	delete(h.Entries, 4)
	if n, err := search.Replay(newScript(sp, 10), h); n != 9 || err == nil || !strings.Contains(err.Error(), "batch 0 was told though 1 of its outcomes are missing") {
		t.Errorf("a replay without trial 4 compares %d: %v", n, err)
	}
}

// readAhead is a history that is read on another goroutine.
type readAhead struct{ space.History }

func (h readAhead) RoundsBeside(beside func()) iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		rounds, done := make(chan space.Round, 100), make(chan struct{})
		var reading sync.WaitGroup
		defer reading.Wait()
		defer close(done)
		reading.Go(func() {
			defer close(rounds)
			for r := range h.Rounds() {
				beside()
				select {
				case rounds <- r:
				case <-done:
					return
				}
			}
		})
		for r := range rounds {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Where a long history differs, a strategy may have been asked for more meanwhile: what is said is said of the first difference, nothing
// is evaluated, and a replay ends soon.
func TestLongHistoryMismatch(t *testing.T) {
	sp := line(t, 40000)
	whole := &searchtest.Memory{}
	mustRun(t, newScript(sp, 10), cost(up), search.Settings{Recorder: whole, Budget: evals(30000)})
	for name, history := range map[string]search.History{"history": whole.History(), "history that is read ahead": readAhead{whole.History()}} {
		for _, first := range []int{0, 511, 512, 1500, 29999, 30000} {
			otherwise := func() *script {
				s := newScript(sp, 10)
				s.fidelity = func(x int) int { return min(x/max(first, 1), 1) }
				if first == 0 {
					s.fidelity = func(int) int { return 1 }
				}
				return s
			}
			want := fmt.Sprintf("search: trial %d asks for ", first)
			ev := cost(up)
			if _, err := search.Run(t.Context(), otherwise(), ev, search.Settings{History: history, Budget: evals(30010)}); first < 30000 &&
				(err == nil || !strings.HasPrefix(err.Error(), want) || len(ev.calls) > 0) || first == 30000 && (err != nil || len(ev.calls) != 10) {
				t.Errorf("%s: where trial %d differs, %d are evaluated: %v", name, first, len(ev.calls), err)
			}
			asked := 0
			n, err := search.Replay(otherwise(), history, func(n int) { asked = n })
			if n != first || (err == nil) != (first == 30000) || err != nil && !strings.HasPrefix(err.Error(), want) || asked > first+10000 {
				t.Errorf("%s: where trial %d differs, %d agree, and %d were asked for: %v", name, first, n, asked, err)
			}
		}
	}
}

// The observer needs no lock of its own, and sees counts that grow by one.
func TestObserve(t *testing.T) {
	known, valid, best := 0, 0, math.Inf(1)
	ev := &counted{f: func(_ context.Context, x int) (space.Outcome, error) {
		if x%5 == 0 {
			return space.Fail(space.Timeout, "it did not end"), nil
		}
		return ok(float64(x * 37 % 101)), nil
	}}
	r := mustRun(t, newScript(line(t, 200), 50), ev, search.Settings{Jobs: 8, Observe: func(e search.Event) {
		if e.Known != known+1 || e.Valid-valid > 1 || e.Outcome.Status == space.StatusUnset {
			t.Errorf("after %d outcomes, %d of them right, the observer sees %+v", known, valid, e)
		}
		known, valid = e.Known, e.Valid
		if e.Outcome.Status == space.OK {
			best = min(best, e.Outcome.Cost)
		}
		if e.Best.Outcome.Status == space.OK && e.Best.Outcome.Cost != best {
			t.Errorf("the incumbent costs %v, and the least seen is %v", e.Best.Outcome.Cost, best)
		}
	}})
	if known != 200 || valid != 160 || r.Best.Outcome.Cost != best {
		t.Errorf("observed are %d, %d of them right, the best %v; the run ends with %+v", known, valid, best, r)
	}
}

// fixed asks for the same batch each time.
type fixed []space.Proposal

func (f fixed) Ask(space.Progress) []space.Proposal { return f }
func (f fixed) Tell([]space.Trial, []space.Outcome) {}

func sixLevels(p space.Proposal) error {
	if p.Fidelity > 6 {
		return errors.New("there are 6")
	}
	return nil
}

func TestStrategyError(t *testing.T) {
	p, other := line(t, 2).At(0), line(t, 3).At(2)
	for _, c := range []struct {
		strategy fixed
		want     string
	}{
		{fixed{{Point: p}, {Point: other}}, `search: the strategy asked for "x=2" of space line, and before for points of space line, which has other points`},
		{fixed{{Point: p, Fidelity: 7}}, `search: the strategy asked for "x=0" at fidelity 7: there are 6`},
		{fixed{{}}, "search: the strategy asked for an empty point in batch 0"},
		{fixed{{Point: p, Fidelity: -1}}, `search: the strategy asked for "x=0" at fidelity -1: want 0 or more`},
		{fixed{{Point: p}, {Point: p}, {Point: p}}, "search: the strategy asked for 3 points where the budget allows 2"},
	} {
		ev := cost(up)
		if _, err := search.Run(t.Context(), c.strategy, ev, search.Settings{Budget: evals(2), Check: sixLevels}); err == nil || err.Error() != c.want || len(ev.calls) > 0 {
			t.Errorf("the error is %v, not %s", err, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		set  search.Settings
		want string
	}{
		{search.Settings{Jobs: -1}, "search: Settings.Jobs is -1"},
		{search.Settings{Budget: search.Budget{Wall: -time.Second}}, "Budget.Wall is -1s: want more than nothing, or 0 for no limit"},
		{search.Settings{Budget: evals(-1)}, "Budget.Evaluations is -1: want 1 or more, or 0 for no limit"},
		{search.Settings{Budget: search.Budget{Target: &nan}}, "Budget.Target is not a number"},
	} {
		if _, err := search.Run(t.Context(), newScript(line(t, 2), 1), cost(up), c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, not %s", err, c.want)
		}
	}
}

func TestStopString(t *testing.T) {
	want := []string{"unset", "time budget spent", "evaluations spent", "target reached", "space exhausted", "interrupted", "stop(6)"}
	for i, text := range want {
		if got := search.Stop(i).String(); got != text {
			t.Errorf("stop %d is %q, not %q", i, got, text)
		}
	}
}
