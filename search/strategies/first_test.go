package strategies_test

import (
	"context"
	"slices"
	"testing"

	"tune/search"
	"tune/search/halving"
	"tune/search/strategies"
	"tune/space"
)

// TestFirst: every strategy evaluates the points that the user wants first before all others, with and without sources and cheap
// scores, asks for none of them again, and asks for the same points when the run is made
// again with a smaller budget.
func TestFirst(t *testing.T) {
	in, err := space.New("first", []space.Parameter{space.Range("a", 0, 30), space.Range("b", 0, 30), space.Bool("c")}, "a + b <= 50")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	h := strategies.Hints{Start: []space.Point{in.Default()}}
	for _, key := range []string{"a=30 b=20 c=true", "a=3 b=29 c=false"} {
		p, err := in.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		h.First, want = append(h.First, p), append(want, key)
	}
	evaluate := func(_ context.Context, trial space.Trial) (space.Outcome, error) {
		p := trial.Point
		return space.Outcome{Status: space.OK, Cost: float64(1 + (p.Int("a")-20)*(p.Int("a")-20) + p.Int("b")), Fidelity: trial.Fidelity}, nil
	}
	sourced := h
	sourced.Sources = []space.Source{measured(in, 40)}
	for _, s := range strategies.Table() {
		if dear(s.Name) {
			s = parse(t, s.Name+":pool=60,samples=1")
		}
		for name, hints := range map[string]strategies.Hints{"": h, " from a source": sourced} {
			for _, levels := range []int{0, 1} {
				run := func(evaluations int) []string {
					strategy, err := s.Make(in, 3, hints, halving.Config{Levels: levels})
					if err != nil {
						t.Fatal(err)
					}
					var asked []string
					_, err = search.Run(t.Context(), strategy, search.EvaluatorFunc(evaluate), search.Settings{
						Budget: search.Budget{Evaluations: evaluations},
						Observe: func(e search.Event) {
							key := e.Trial.Point.Key()
							if e.Trial.Fidelity > 0 {
								key += " cheap"
							}
							asked = append(asked, key)
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					return asked
				}
				asked := run(60)
				if !slices.Equal(asked[:2], want) {
					t.Errorf("%s%s, %d cheap levels: the first are %v", s.Name, name, levels, asked[:2])
				}
				if s.Paced {
					if !slices.Equal(asked, run(60)) {
						t.Errorf("%s%s: another run asks for other points", s.Name, name)
					}
				} else {
					for _, n := range []int{1, 3, 5, 9, 20} {
						if !slices.Equal(asked[:n], run(n)) {
							t.Errorf("%s%s: a run of %d evaluations asks for other points", s.Name, name, n)
						}
					}
				}
				slices.Sort(asked)
				if n := len(asked); len(slices.Compact(asked)) != n {
					t.Errorf("%s%s: a point was asked for twice", s.Name, name)
				}
			}
		}
	}
}
