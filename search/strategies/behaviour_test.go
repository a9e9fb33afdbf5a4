package strategies_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"tune/search"
	"tune/search/internal/functions"
	"tune/search/strategies"
	"tune/space"
)

// curve carries out a search and returns the best cost after each evaluation.
func curve(t *testing.T, name string, in *space.Space, seed uint64, h strategies.Hints, n int, outcome func(space.Point) space.Outcome) []float64 {
	t.Helper()
	entry, err := strategies.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := entry.New(in, seed, h)
	if err != nil {
		t.Fatal(err)
	}
	best, out := math.Inf(1), make([]float64, 0, n)
	_, err = search.Run(t.Context(), s, search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		return outcome(t.Point), nil
	}), search.Settings{Budget: search.Budget{Evaluations: n}, Observe: func(e search.Event) {
		if e.Outcome.Status == space.OK {
			best = min(best, e.Outcome.Cost)
		}
		out = append(out, best)
	}})
	if err != nil || len(out) != n {
		t.Fatalf("%s: %d of %d evaluations: %v", name, len(out), n, err)
	}
	return out
}

// after is the mean over seeds of the best cost after n evaluations.
func after(t *testing.T, name string, in *space.Space, seeds uint64, h strategies.Hints, n int, outcome func(space.Point) space.Outcome) float64 {
	t.Helper()
	sum := 0.0
	for seed := range seeds {
		sum += curve(t, name, in, seed, h, n, outcome)[n-1]
	}
	return sum / float64(seeds)
}

func right(cost func(space.Point) float64) func(space.Point) space.Outcome {
	return func(p space.Point) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost(p)} }
}

// dear reports whether a strategy thinks for long.
func dear(name string) bool { return name == "auto" || name == "surrogate" }

// seedsOf is how many seeds a test takes of a strategy: all, but a few of one that thinks for long, of which `make stress` takes
// all.
func seedsOf(name string, few, all uint64) uint64 {
	if dear(name) && !stress {
		return few
	}
	return all
}

// models lists the strategies with a model whose first evaluations a test looks at. Those of auto are the model's alone, up to
// what is near the end of a budget, so that but for `make stress` the model stands for both.
func models() []string {
	if stress {
		return []string{"surrogate", "auto"}
	}
	return []string{"surrogate"}
}

// inShort skips what takes long with strategies that think.
func inShort(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests leave out what takes a model long")
	}
}

// guided lists the strategies that learn from outcomes.
var guided = []string{"auto", "evolve", "surrogate", "anneal", "ils", "diffevo", "swarm"}

// TestBeatsRandom: in the mean over seeds, what a model has after 40 evaluations, and any other strategy after 160,
// random search has not after 160.
func TestBeatsRandom(t *testing.T) {
	const most = 160
	for _, f := range []functions.Function{functions.Step(5), functions.Rosenbrock(4)} {
		random := after(t, "random", f.Space, 20, strategies.Hints{}, most, right(f.Cost))
		for _, name := range guided {
			if name == "ils" && f.Name == "rosenbrock-4" {
				continue // a neighbourhood of 16,384 points is more than a descent gets through
			}
			if dear(name) && !slices.Contains(models(), name) {
				continue
			}
			t.Run(f.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				n, seeds := most, uint64(20)
				if dear(name) {
					inShort(t)
					n, seeds = most/4, seedsOf(name, 3, 8)
				}
				if got := after(t, name, f.Space, seeds, strategies.Hints{}, n, right(f.Cost)); got >= random {
					t.Errorf("after %d evaluations it has %v, random search after %d has %v", n, got, most, random)
				}
			})
		}
	}
}

// TestFindsOptimum: the model finds the optimum of a space of 4,096 points within a hundredth of it, with four seeds of five.
func TestFindsOptimum(t *testing.T) {
	inShort(t)
	in, cost := bowl(t)
	for _, name := range models() {
		found, seeds := uint64(0), seedsOf(name, 5, 20)
		for seed := range seeds {
			if curve(t, name, in, seed, strategies.Hints{}, 40, right(cost))[39] == 1 {
				found++
			}
		}
		if 5*found < 4*seeds {
			t.Errorf("%s finds the optimum with %d seeds of %d", name, found, seeds)
		}
	}
}

// bowl is a space of 4,096 points and a cost that is 1 at its least, on a slanted ellipse.
func bowl(t *testing.T) (*space.Space, func(space.Point) float64) {
	t.Helper()
	in, err := space.New("bowl", []space.Parameter{space.Range("x", 0, 63), space.Range("y", 0, 63)})
	if err != nil {
		t.Fatal(err)
	}
	return in, func(p space.Point) float64 {
		x, y := float64(p.Int("x")-45)/16, float64(p.Int("y")-20)/16
		return 1 + x*x + y*y + x*y
	}
}

// TestFailingRegion: half of the space fails, and the best points are at its edge. What is learned of the region keeps
// the evaluations out of it.
func TestFailingRegion(t *testing.T) {
	inShort(t)
	in, _ := bowl(t)
	outcome := func(p space.Point) space.Outcome {
		x, y := float64(p.Int("x")), float64(p.Int("y"))
		if x >= 32 {
			return space.Fail(space.Crashed, "too wide")
		}
		return space.Outcome{Status: space.OK, Cost: 100 - x + math.Abs(y-20)}
	}
	for _, name := range models() {
		failed, all := 0, 0
		for seed := range seedsOf(name, 2, 10) {
			entry, err := strategies.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := entry.New(in, seed, strategies.Hints{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = search.Run(t.Context(), s, search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
				return outcome(t.Point), nil
			}), search.Settings{Budget: search.Budget{Evaluations: 80}, Observe: func(e search.Event) {
				if e.Trial.Number >= 30 {
					all++
					if e.Outcome.Status != space.OK {
						failed++
					}
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if failed*4 > all { // at random it is half of them
			t.Errorf("%s: from the 30th evaluation on, %d of %d fail", name, failed, all)
		}
	}
}

// TestWarmStart: with a source that is right each strategy has at once what it would look for; with one that says the
// opposite it comes, in the mean over seeds, to what it finds without, given 100 evaluations.
func TestWarmStart(t *testing.T) {
	in, cost := bowl(t)
	source := func(name string, cost func(space.Point) float64) space.Source {
		s := space.Source{Name: name}
		for p := range in.All() {
			if p.Int("x")%3 == 0 && p.Int("y")%4 == 0 {
				s.Observations = append(s.Observations, space.Observation{Point: p, Outcome: right(cost)(p)})
			}
		}
		return s
	}
	truth := source("truth", func(p space.Point) float64 { return 7 * cost(p) })
	reverse := source("reverse", func(p space.Point) float64 { return 7 / cost(p) })
	for _, name := range guided {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := uint64(20)
			if dear(name) {
				inShort(t)
				seeds = seedsOf(name, 3, 8)
			}
			if got := after(t, name, in, seeds, strategies.Hints{Sources: []space.Source{truth}}, 6, right(cost)); got > 1.01 {
				t.Errorf("after 6 evaluations it has %v, and the best of the source is 1", got)
			}
			if dear(name) && !slices.Contains(models(), name) {
				return
			}
			cold := after(t, name, in, seeds, strategies.Hints{}, 100, right(cost))
			misled := after(t, name, in, seeds, strategies.Hints{Sources: []space.Source{reverse}}, 100, right(cost))
			if misled > cold+0.05 {
				t.Errorf("misled, it has %v after 100 evaluations, else %v", misled, cold)
			}
		})
	}
}

// TestWarmStartInTrap: a source that is right about the space but for a poor local optimum, which it takes for the best,
// makes a strategy without a model no worse.
func TestWarmStartInTrap(t *testing.T) {
	in, err := space.New("trap", []space.Parameter{
		space.Range("x", 0, 15), space.Range("y", 0, 15), space.Range("z", 0, 15), space.Bool("flag"),
	})
	if err != nil {
		t.Fatal(err)
	}
	off := func(p space.Point, x, y, z int) float64 {
		return math.Hypot(math.Hypot(float64(p.Int("x")-x), float64(p.Int("y")-y)), float64(p.Int("z")-z)) / 4
	}
	cost := func(depth float64) func(space.Point) float64 {
		return func(p space.Point) float64 {
			c := 1 + off(p, 12, 4, 10)
			if p.Bool("flag") {
				c += 0.5
			}
			return min(c, depth+2*off(p, 2, 13, 2))
		}
	}
	var source space.Source
	for p := range in.All() {
		if (p.Int("x")+p.Int("y")+p.Int("z"))%3 == 0 {
			source.Observations = append(source.Observations, space.Observation{Point: p, Outcome: right(cost(0.5))(p)})
		}
	}
	truth := right(cost(2))
	const seeds, margin = 60, 0.15
	for _, name := range []string{"evolve", "anneal", "ils", "diffevo", "swarm"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cold := after(t, name, in, seeds, strategies.Hints{}, 100, truth)
			warm := after(t, name, in, seeds, strategies.Hints{Sources: []space.Source{source}}, 100, truth)
			if t.Logf("cold %.3f, warm %.3f", cold, warm); warm > cold+margin {
				t.Errorf("it has %v after 100 evaluations, and %v without the source", warm, cold)
			}
		})
	}
}

// TestFirstPoints: the best points of the sources come first, those of several by turns; a model has the start before them,
// other strategies behind them.
func TestFirstPoints(t *testing.T) {
	in, _ := bowl(t)
	at := func(x, y int) space.Point {
		p, err := in.Parse(fmt.Sprintf("x=%d y=%d", x, y))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	seen := func(p space.Point, cost float64) space.Observation {
		return space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: cost}}
	}
	h := strategies.Hints{Start: []space.Point{at(9, 9)}, Sources: []space.Source{
		{Observations: []space.Observation{seen(at(1, 2), 5), seen(at(1, 1), 4)}},
		{Observations: []space.Observation{seen(at(2, 1), 70), seen(at(2, 2), 80)}},
	}}
	start, leaders := "x=9 y=9", []string{"x=1 y=1", "x=2 y=1", "x=1 y=2", "x=2 y=2"}
	for _, name := range guided {
		want := append(slices.Clone(leaders), start)
		if dear(name) {
			want = append([]string{start}, leaders...)
		}
		entry, err := strategies.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := entry.New(in, 1, h)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for len(keys) < len(want) {
			batch := s.Ask(space.Progress{Told: len(keys), Left: 1})
			var trials []space.Trial
			var outcomes []space.Outcome
			for _, p := range batch {
				trials = append(trials, space.Trial{Number: len(keys), Proposal: p})
				outcomes = append(outcomes, space.Outcome{Status: space.OK, Cost: float64(len(keys))})
				keys = append(keys, p.Point.Key())
			}
			s.Tell(trials, outcomes)
		}
		if got := keys[:len(want)]; !slices.Equal(got, want) {
			t.Errorf("%s begins with %v, not %v", name, got, want)
		}
	}
}
