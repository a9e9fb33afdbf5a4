package search_test

import (
	"context"
	"slices"
	"testing"

	"tune/search"
	"tune/search/random"
	"tune/space"
)

func firstSpace(t *testing.T) *space.Space {
	s, err := space.New("first", []space.Parameter{space.Range("a", 0, 9), space.Range("b", 0, 4)}, "a != b")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFirst: the given points come first, in their order and once; then the rest of the space follows, and the inner strategy is told
// every point that it has asked for.
func TestFirst(t *testing.T) {
	s := firstSpace(t)
	var points []space.Point
	for _, key := range []string{"a=7 b=3", "a=0 b=4", "a=7 b=3", "a=9 b=0"} {
		p, err := s.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, p)
	}
	for _, limit := range []int{0, 1, 2, 3, 4, 20} {
		inner, err := (random.Config{}).New(s, 7)
		if err != nil {
			t.Fatal(err)
		}
		watched := &watch{inner: inner}
		var asked []string
		result, err := search.Run(t.Context(), search.First(watched, points), search.EvaluatorFunc(func(_ context.Context, trial space.Trial) (space.Outcome, error) {
			return space.Outcome{Status: space.OK, Cost: float64(trial.Point.Int("a"))}, nil
		}), search.Settings{Budget: search.Budget{Evaluations: limit}, Observe: func(e search.Event) { asked = append(asked, e.Trial.Point.Key()) }})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"a=7 b=3", "a=0 b=4", "a=9 b=0"}
		n := 45
		if limit > 0 {
			n = limit
		}
		if result.Told != n || !slices.Equal(asked[:min(3, n)], want[:min(3, n)]) {
			t.Errorf("limit %d: %d told, the first are %v", limit, result.Told, asked[:min(5, len(asked))])
		}
		slices.Sort(asked)
		if len(slices.Compact(asked)) != n {
			t.Errorf("limit %d: a point was asked for twice", limit)
		}
		if limit == 0 && watched.told != 45 {
			t.Errorf("the inner strategy was told %d points of 45", watched.told)
		}
		if watched.wrong != "" {
			t.Errorf("limit %d: %s", limit, watched.wrong)
		}
	}
	inner, _ := (random.Config{}).New(s, 7)
	if got := search.First(inner, nil); got != inner {
		t.Error("a strategy without points is wrapped")
	}
}

// watch checks that a strategy is told exactly what it asks for.
type watch struct {
	inner search.Strategy
	asked []space.Proposal
	told  int
	wrong string
}

func (w *watch) Ask(p space.Progress) []space.Proposal {
	w.asked = w.inner.Ask(p)
	return w.asked
}

func (w *watch) Tell(trials []space.Trial, outcomes []space.Outcome) {
	if len(trials) != len(w.asked) || len(outcomes) != len(w.asked) {
		w.wrong = "it was told another number of points than it asked for"
	} else {
		for i, trial := range trials {
			if !trial.Point.Equal(w.asked[i].Point) || outcomes[i].Cost != float64(trial.Point.Int("a")) {
				w.wrong = "it was told the outcome of another point"
			}
		}
	}
	w.told += len(trials)
	w.inner.Tell(trials, outcomes)
}
