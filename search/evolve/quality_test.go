package evolve_test

import (
	"context"
	"testing"

	"tune/search"
	"tune/search/evolve"
	"tune/search/internal/functions"
	"tune/search/random"
	"tune/space"
)

// best returns the lowest cost that a strategy finds in the given number of evaluations.
func best(t *testing.T, f functions.Function, s search.Strategy, evaluations int) float64 {
	t.Helper()
	ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
		return space.Outcome{Status: space.OK, Cost: f.Cost(t.Point)}, nil
	})
	r, err := search.Run(t.Context(), s, ev, search.Settings{Budget: search.Budget{Evaluations: evaluations}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Best.Outcome.Cost
}

// TestBeatsRandom compares the mean best costs of evolve and of random search. The seeds are fixed, so that the result is the same
// each time.
func TestBeatsRandom(t *testing.T) {
	const seeds, evaluations = 30, 300
	for _, f := range functions.Table() {
		t.Run(f.Name, func(t *testing.T) {
			evolved, drawn, wins := 0.0, 0.0, 0
			for seed := range uint64(seeds) {
				s, err := evolve.New(f.Space, seed, evolve.Config{})
				if err != nil {
					t.Fatal(err)
				}
				e, r := best(t, f, s, evaluations), best(t, f, random.New(f.Space, seed), evaluations)
				evolved += e / seeds
				drawn += r / seeds
				if e < r {
					wins++
				}
			}
			t.Logf("mean best of %d evaluations over %d seeds: evolve %.4g, random %.4g; evolve is better on %d", evaluations, seeds, evolved, drawn, wins)
			// The excess of evolve over the minimum is 0.25 to 0.53 of that of random search.
			if evolved-f.Minimum > 0.6*(drawn-f.Minimum) {
				t.Errorf("evolve reaches %.4g in the mean, random search %.4g: want at most 0.6 of its excess over %.4g", evolved, drawn, f.Minimum)
			}
			if wins < seeds*8/10 {
				t.Errorf("evolve is better on %d seeds of %d", wins, seeds)
			}
		})
	}
}
