package halving_test

import (
	"context"
	"math"
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
	searchtest.Conformance(t, "blind", func(s *space.Space, seed uint64) (search.Strategy, error) {
		first := s.Parameters()[0].Name
		return halving.New(s, seed, random.New(s, seed), halving.Config{Levels: 2, Blind: []string{first}})
	})
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

// blindSearch searches a plane whose cheap score knows nothing of y, and returns every evaluation.
func blindSearch(t *testing.T, evaluations int, metrics func(x float64) []space.Metric) (trials []space.Trial, best search.Best) {
	t.Helper()
	s, err := space.New("plane", []space.Parameter{space.Range("x", 0, 9999), space.Range("y", 0, 999)})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := evolve.New(s, 1, evolve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := halving.New(s, 1, inner, halving.Config{Levels: 1, Blind: []string{"y"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := search.Run(t.Context(), strategy, search.EvaluatorFunc(func(_ context.Context, trial space.Trial) (space.Outcome, error) {
		trials = append(trials, trial)
		x, y := trial.Point.Float("x"), trial.Point.Float("y")
		o := space.Outcome{Status: space.OK, Cost: 1000 + math.Abs(x-7777), Fidelity: trial.Fidelity}
		if trial.Fidelity == 0 {
			o.Cost += math.Abs(y - 222)
		} else if metrics != nil {
			o.Metrics = metrics(x)
		}
		return o, nil
	}), search.Settings{Budget: search.Budget{Evaluations: evaluations}})
	if err != nil {
		t.Fatal(err)
	}
	return trials, r.Best
}

// TestBlind: points that the cheap score cannot tell apart have it once, and the search finds good values of what that
// score is blind to.
func TestBlind(t *testing.T) {
	trials, best := blindSearch(t, 1200, nil)
	seen := map[int]bool{}
	for _, trial := range trials {
		if x := trial.Point.Int("x"); trial.Fidelity == 1 {
			if seen[x] {
				t.Fatalf("the cheap score at x = %d is asked again", x)
			}
			seen[x] = true
		}
	}
	if best.Outcome.Cost > 1005 {
		t.Errorf("the best is %v at %v", best.Outcome, best.Trial.Point)
	}
}

// TestBound: what cannot be better than the best is not scored in full, but before all else.
func TestBound(t *testing.T) {
	const tightness = 0.98
	trials, _ := blindSearch(t, 1200, func(x float64) []space.Metric {
		return []space.Metric{{Name: "bound", Value: 1000 + tightness*math.Abs(x-7777)}}
	})
	best, before, full := math.Inf(1), math.Inf(1), 0
	for _, trial := range trials {
		if trial.Fidelity > 0 {
			before = best
			continue
		}
		x := math.Abs(trial.Point.Float("x") - 7777)
		// The first points have no bound yet, and those of a batch are decided on together.
		if full++; full > 2 && 1000+tightness*x >= before {
			t.Errorf("x = %v off is scored in full after %v", x, before)
		}
		best = min(best, 1000+x+math.Abs(trial.Point.Float("y")-222))
	}
	if full < 50 {
		t.Errorf("%d full scores", full)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []halving.Config{{Levels: -1}, {Levels: 1, Keep: 1}, {Levels: 1, Keep: -3}, {Levels: 1, Scouts: -1}} {
		if _, err := halving.New(nil, 0, nil, c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, 9), space.Bool("y")})
	if err != nil {
		t.Fatal(err)
	}
	for _, blind := range [][]string{{"z"}, {"x", "x"}} {
		if _, err := halving.New(s, 0, random.New(s, 0), halving.Config{Levels: 1, Blind: blind}); err == nil {
			t.Errorf("blind to %v is accepted", blind)
		}
	}
}

// TestFirst: given points are scored fully before all that is scouted.
func TestFirst(t *testing.T) {
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, 9999), space.Range("y", 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	var given []space.Point
	for _, text := range []string{"x=5 y=1", "x=9000 y=9", "x=5 y=2"} {
		p, err := s.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, p)
	}
	strategy, err := halving.New(s, 1, random.New(s, 1), halving.Config{Levels: 2, Blind: []string{"y"}, First: given})
	if err != nil {
		t.Fatal(err)
	}
	full := map[string]bool{}
	for _, p := range strategy.Ask(space.Progress{Evaluations: 100}) {
		if p.Fidelity != 0 || full[p.Point.Key()] {
			t.Errorf("it begins with %s at fidelity %d", p.Point, p.Fidelity)
		}
		full[p.Point.Key()] = true
	}
	for _, p := range given {
		if !full[p.Key()] {
			t.Errorf("%s is not among the first, %v", p, full)
		}
	}
}
