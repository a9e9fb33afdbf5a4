package ils_test

import (
	"context"
	"testing"

	"tune/search"
	"tune/search/ils"
	"tune/space"
)

func abs(n int) float64 { return float64(max(n, -n)) }

// TestLeavesLocalOptimum: from a point that no change of one parameter betters, it finds the optimum elsewhere.
func TestLeavesLocalOptimum(t *testing.T) {
	in, err := space.New("in", []space.Parameter{space.Range("x", 0, 39), space.Range("y", 0, 39)})
	if err != nil {
		t.Fatal(err)
	}
	cost := func(p space.Point) float64 {
		x, y := p.Int("x"), p.Int("y")
		return min(1+abs(x-5)+abs(y-5), 2*(abs(x-20)+abs(y-22)))
	}
	trap, err := in.Parse("x=5 y=5")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range in.Neighbours(trap, space.AnyValue) {
		if cost(p) <= cost(trap) {
			t.Fatalf("%s is no worse than %s", p, trap)
		}
	}
	for seed := range uint64(10) {
		s, err := ils.New(in, seed, ils.Config{Start: []space.Point{trap}})
		if err != nil {
			t.Fatal(err)
		}
		target := 0.0
		r, err := search.Run(t.Context(), s, search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
			return space.Outcome{Status: space.OK, Cost: cost(t.Point)}, nil
		}), search.Settings{Budget: search.Budget{Evaluations: 800, Target: &target}})
		if err != nil || r.Stop != search.TargetReached {
			t.Errorf("seed %d: after %d of 1,600 points it has %v: %v", seed, r.Told, r.Best.Outcome.Cost, err)
		}
	}
}

// TestLearn: a descent that has not begun begins at the best point that another strategy found, one that is under way
// moves to it where it is better.
func TestLearn(t *testing.T) {
	in, err := space.New("in", []space.Parameter{space.Range("x", 0, 39), space.Range("y", 0, 39)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ils.New(in, 1, ils.Config{Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, step := range []struct {
		key  string
		cost float64
		near bool // whether it goes on from there
	}{{"x=10 y=10", 9, true}, {"x=30 y=30", 5, true}, {"x=20 y=3", 7, false}} {
		p, err := in.Parse(step.key)
		if err != nil {
			t.Fatal(err)
		}
		s.Learn([]space.Trial{{Number: told, Proposal: space.Proposal{Point: p}}}, []space.Outcome{{Status: space.OK, Cost: step.cost}})
		told++
		var trials []space.Trial
		var outcomes []space.Outcome
		for _, q := range s.Ask(space.Progress{Told: told, Left: 1}) {
			distance := abs(q.Point.Int("x")-p.Int("x")) + abs(q.Point.Int("y")-p.Int("y"))
			if near := distance == 1; near != step.near {
				t.Errorf("after hearing of %s at %v it asks %s", p, step.cost, q.Point)
			}
			trials, outcomes = append(trials, space.Trial{Number: told, Proposal: q}), append(outcomes, space.Outcome{Status: space.OK, Cost: 10})
			told++
		}
		s.Tell(trials, outcomes)
	}
}
