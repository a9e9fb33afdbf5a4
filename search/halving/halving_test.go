package halving_test

import (
	"context"
	"testing"

	"tune/search"
	"tune/search/evolve"
	"tune/search/halving"
	"tune/search/random"
	"tune/search/searchtest"
	"tune/space"
)

func TestConformance(t *testing.T) {
	for name, c := range map[string]halving.Config{"one level": {Levels: 1}, "three levels": {Levels: 3, Keep: 2}, "none": {}} {
		searchtest.Conformance(t, name, func(s *space.Space, seed uint64) (search.Strategy, error) {
			return halving.New(s, seed, random.New(s, seed), c)
		})
	}
	searchtest.Conformance(t, "evolve", func(s *space.Space, seed uint64) (search.Strategy, error) {
		inner, err := evolve.New(s, seed, evolve.Config{})
		if err != nil {
			return nil, err
		}
		return halving.New(s, seed, inner, halving.Config{Levels: 2})
	})
}

// TestPromotes counts the evaluations of each fidelity, and finds the optimum that the cheap scores point to.
func TestPromotes(t *testing.T) {
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, 9999)})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := evolve.New(s, 1, evolve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := halving.New(s, 1, inner, halving.Config{Levels: 1, Keep: 6})
	if err != nil {
		t.Fatal(err)
	}
	var counts [2]int
	r, err := search.Run(t.Context(), strategy, search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		counts[t.Fidelity]++
		x := t.Point.Float("x")
		return space.Outcome{Status: space.OK, Cost: (x-7777)*(x-7777) + 5*float64(t.Fidelity), Fidelity: t.Fidelity}, nil
	}), search.Settings{Budget: search.Budget{Evaluations: 1400}})
	if err != nil {
		t.Fatal(err)
	}
	if counts[0] < 20 || counts[0] > 202 || counts[0]+counts[1] != 1400 {
		t.Errorf("%d full scores and %d cheap ones, want one in six at the most", counts[0], counts[1])
	}
	if r.Best.Outcome.Cost > 9 || r.Best.Outcome.Fidelity != 0 {
		t.Errorf("the best is %v at %v", r.Best.Outcome, r.Best.Trial.Point)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []halving.Config{{Levels: -1}, {Levels: 1, Keep: 1}, {Levels: 1, Keep: -3}, {Levels: 1, Scouts: -1}} {
		if _, err := halving.New(nil, 0, nil, c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
