package halving

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"tune/search"
	"tune/search/random"
	"tune/space"
)

// switched has a word that pays only once sixteen numbers have followed it.
func switched(t *testing.T) (*space.Space, func(p space.Point, fidelity int) float64) {
	t.Helper()
	parameters := []space.Parameter{space.Bool("other"), space.Range("seed", 0, 63)}
	for i := range 16 {
		parameters = append(parameters, space.Range(fmt.Sprintf("x%d", i), 0, 40))
	}
	s, err := space.New("switched", parameters)
	if err != nil {
		t.Fatal(err)
	}
	return s, func(p space.Point, fidelity int) float64 {
		cost, middle, share := 1000, 10, 10
		if p.Bool("other") {
			cost, middle, share = 990, 12, 6
		}
		for i := range 16 {
			d := p.Ordinal(2+i) - middle
			cost += d * d / share
		}
		if fidelity < 2 { // the cheapest score is blind to the seed
			cost += p.Int("seed") % 7
		}
		return float64(cost)
	}
}

// TestClimb: a search crosses to the other word, although each single step there makes a point worse, and finds the best there is.
func TestClimb(t *testing.T) {
	s, cost := switched(t)
	for seed := range uint64(3) {
		strategy, err := New(s, seed, random.New(s, seed), Config{Levels: 2, Scouts: 64, Blind: []string{"seed"}})
		if err != nil {
			t.Fatal(err)
		}
		full := 0
		ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
			if t.Fidelity == 0 {
				full++
			}
			return space.Outcome{Status: space.OK, Cost: cost(t.Point, t.Fidelity), Fidelity: t.Fidelity}, nil
		})
		r, err := search.Run(t.Context(), strategy, ev, search.Settings{Budget: search.Budget{Evaluations: 4000}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Best.Outcome.Cost; got > 990 {
			t.Errorf("seed %d: 4000 evaluations, %d of them full, reach %v at %v, want 990", seed, full, got, r.Best.Trial.Point)
		}
	}
}

// TestDepart: a climb begins at one of the best points or near it, as often as its rank says, and nowhere twice.
func TestDepart(t *testing.T) {
	h, at := made(t, Config{Levels: 2})
	for x, cost := range []float64{100, 99, 101, math.NaN(), 103} {
		h.score(at(x), 2, cost)
	}
	begun := map[int]int{}
	starts := []candidate{at(0), at(1), at(2), at(3), at(4)}
	for range 1000 {
		clear(h.started)
		h.climb = climb{at: -1, starts: starts}
		if !h.depart() {
			t.Fatal("a climb begins nowhere")
		}
		begun[h.point(h.climb.at).Int("x")]++
	}
	// The last is worse than the first by more than a fiftieth.
	if begun[1] < 440 || begun[1] > 560 || begun[0] < 190 || begun[0] > 310 || begun[2] < 190 || begun[2] > 310 || begun[3]+begun[4] > 0 {
		t.Errorf("climbs begin at %v", begun)
	}
	clear(h.started)
	var got []int
	for {
		h.climb = climb{at: -1, starts: starts}
		if !h.depart() {
			break
		}
		got = append(got, h.point(h.climb.at).Int("x"))
	}
	if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("without returning, climbs begin at %v", got)
	}
}

// TestStands: a step is taken where the next dearer fidelity is no worse, but for what falls differ by, and did not fail.
func TestStands(t *testing.T) {
	for _, c := range []struct {
		name     string
		at, cost float64
		falls    []float64
		want     bool
	}{
		{"as good", 50, 50, nil, true},
		{"worse", 50, 50.5, nil, false},
		{"worse by no more than falls differ", 50, 53, []float64{4, 1, 0, 9}, true},
		{"worse by more", 50, 59, []float64{4, 1, 0, 9}, false},
		{"it failed", 50, math.NaN(), []float64{1, 4, 0, 9}, false},
		{"it failed as well", math.NaN(), math.NaN(), nil, false},
		{"it is the first that did not fail", math.NaN(), 90, nil, true},
	} {
		h, at := made(t, Config{Levels: 2})
		h.score(at(0), 1, c.at)
		h.score(at(1), 1, c.cost)
		h.falls[1], h.climb.at = c.falls, at(0)
		if got := h.stands(at(1)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestSettle: an island has a best of its own, and what it finds joins all else. A bound that is no better than the record is no
// place for one.
func TestSettle(t *testing.T) {
	h, at := made(t, Config{Levels: 1})
	h.score(at(0), 0, 10)
	h.climb = climb{at: at(0), starts: []candidate{at(0)}}
	if h.settle() {
		t.Error("an island that is one of the best points")
	}
	h.climb.at = at(1)
	h.score(at(1), 1, 9, space.Metric{Name: space.MetricBound, Value: 10})
	if h.settle() {
		t.Error("an island whose bound is the record")
	}
	h.climb.at = at(2)
	h.score(at(2), 1, 9, space.Metric{Name: space.MetricBound, Value: 9})
	if !h.settle() || !math.IsInf(h.best, 1) || len(h.elite) != 0 || !slices.Equal(h.group, []candidate{at(2)}) {
		t.Errorf("an island begins with a best of %v, an elite of %v and the group %v", h.best, h.elite, h.group)
	}
	h.score(at(2), 0, 12)
	if h.best != 12 || h.record != 10 {
		t.Errorf("the island's best is %v and the record %v", h.best, h.record)
	}
	h.leave()
	if h.best != 10 || !slices.Equal(h.elite, []candidate{at(0), at(2)}) {
		t.Errorf("afterwards the best is %v and the elite %v", h.best, h.elite)
	}
}
