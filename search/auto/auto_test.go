package auto

import (
	"math"
	"testing"

	"tune/search"
	"tune/search/searchtest"
	"tune/space"
)

// The suite with a short lead, so that the bandit has most of the evaluations, and a small model.
func TestConformance(t *testing.T) {
	searchtest.Conformance(t, "short lead", func(in *space.Space, seed uint64) (search.Strategy, error) {
		return New(in, seed, Config{Lead: 12, Anneal: true, Evolve: true, Pool: 60, Samples: 1})
	}, searchtest.Paced, searchtest.Dear)
}

func plane(t *testing.T) *space.Space {
	t.Helper()
	in, err := space.New("plane", []space.Parameter{space.Range("x", 0, 99), space.Range("y", 0, 99)})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func cost(p space.Point) float64 {
	return math.Hypot(float64(p.Int("x")-70), float64(p.Int("y")-20))
}

// asked runs a batch and returns its size.
func asked(a search.Strategy, p space.Progress) int {
	var trials []space.Trial
	var outcomes []space.Outcome
	for i, q := range a.Ask(p) {
		trials = append(trials, space.Trial{Number: p.Told + i, Proposal: q})
		outcomes = append(outcomes, space.Outcome{Status: space.OK, Cost: cost(q.Point)})
	}
	a.Tell(trials, outcomes)
	return len(trials)
}

// TestShares: local search goes on from the incumbent that the model found, and asks none of its points again.
func TestShares(t *testing.T) {
	s, err := New(plane(t), 1, Config{Lead: 20})
	if err != nil {
		t.Fatal(err)
	}
	a := s.(*auto)
	var best space.Point
	least := math.Inf(1)
	seen := map[string]bool{}
	for told := 0; told < 20; {
		proposals := a.Ask(space.Progress{Told: told, Left: 1})
		var trials []space.Trial
		var outcomes []space.Outcome
		for _, q := range proposals {
			c := cost(q.Point)
			if c < least {
				best, least = q.Point, c
			}
			seen[q.Point.Key()] = true
			trials = append(trials, space.Trial{Number: told, Proposal: q})
			outcomes = append(outcomes, space.Outcome{Status: space.OK, Cost: c})
			told++
		}
		a.Tell(trials, outcomes)
	}
	for _, q := range a.arms[1].Ask(space.Progress{Told: 20, Left: 1}) {
		distance := math.Abs(float64(q.Point.Int("x")-best.Int("x"))) + math.Abs(float64(q.Point.Int("y")-best.Int("y")))
		if distance != 1 || seen[q.Point.Key()] {
			t.Errorf("the incumbent is %s, and local search asks %s", best, q.Point)
		}
	}
}

// TestPace: batches are at most a quarter of what is left, by count or by the clock, and as large as ever where much is.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name string
		p    space.Progress
		most int
	}{
		{"no limit", space.Progress{Told: 100, Left: 1}, 4},
		{"far from the end", space.Progress{Told: 100, Left: 0.5, Evaluations: 100}, 4},
		{"eight left", space.Progress{Told: 100, Left: 8. / 108, Evaluations: 8}, 2},
		{"three left", space.Progress{Told: 100, Left: 3. / 103, Evaluations: 3}, 1},
		{"time for ten", space.Progress{Told: 100, Left: 0.09}, 2},
		{"no time", space.Progress{Told: 100, Left: 0}, 1},
		{"more counted than there is time for", space.Progress{Told: 100, Left: 0.05, Evaluations: 50}, 1},
	} {
		a, err := New(plane(t), 1, Config{Pool: 60, Samples: 1})
		if err != nil {
			t.Fatal(err)
		}
		for told := 0; told < 100; {
			told += asked(a, space.Progress{Told: told, Left: 1})
		}
		if got := asked(a, c.p); got != c.most {
			t.Errorf("%s: a batch of %d, not %d", c.name, got, c.most)
		}
	}
}
