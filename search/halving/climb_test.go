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

// TestMisled: where the cheapest score is far below what the best points cost, climbs go by the next dearer one, and find the best there
// is in all parameters. As long as it comes with no bound, or is about right, they go by it.
func TestMisled(t *testing.T) {
	for _, c := range []struct {
		promise float64 // what the cheapest score is below the others
		bound   bool
		want    int
	}{{200, true, 1}, {200, false, 2}, {5, true, 2}} {
		s, cost := switched(t)
		strategy, err := New(s, 1, random.New(s, 1), Config{Levels: 2, Scouts: 64, Blind: []string{"seed"}})
		if err != nil {
			t.Fatal(err)
		}
		ev := search.EvaluatorFunc(func(_ context.Context, t space.Trial) (space.Outcome, error) {
			o := space.Outcome{Status: space.OK, Cost: cost(t.Point, t.Fidelity), Fidelity: t.Fidelity}
			if t.Fidelity == 2 {
				// It sees nothing of the numbers where it promises much.
				if o.Cost -= c.promise; c.promise > 100 {
					o.Cost = 1000 - c.promise
				}
				if c.bound {
					o.Metrics = []space.Metric{{Name: space.MetricBound, Value: o.Cost}}
				}
			}
			return o, nil
		})
		r, err := search.Run(t.Context(), strategy, ev, search.Settings{Budget: search.Budget{Evaluations: 4000}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strategy.(*halving).climbLevel; got != c.want {
			t.Errorf("promise %v, bound %v: climbs go by fidelity %d, want %d", c.promise, c.bound, got, c.want)
		}
		if got := r.Best.Outcome.Cost; c.bound && got > 990 {
			t.Errorf("promise %v: 4000 evaluations reach %v at %v, want 990", c.promise, got, r.Best.Trial.Point)
		}
	}
}

// TestDepart: walks begin at the best points or near them, as often as their ranks say, and nowhere twice.
func TestDepart(t *testing.T) {
	h, at := made(t, Config{Levels: 2})
	for x, cost := range []float64{100, 99, 101, math.NaN(), 103} {
		h.score(at(x), 2, cost)
	}
	begun := map[int]int{}
	starts := []candidate{at(0), at(1), at(2), at(3), at(4)}
	for range 1000 {
		clear(h.started)
		h.climb = climb{starts: slices.Clone(starts)}
		h.depart()
		var got []int
		for _, w := range h.climb.walks {
			got = append(got, h.point(w.at).Int("x"))
		}
		begun[got[0]]++
		// The last is worse than the first by more than a fiftieth.
		if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2}) {
			t.Fatalf("walks begin at %v", got)
		}
	}
	if begun[1] < 440 || begun[1] > 560 || begun[0] < 190 || begun[0] > 310 || begun[2] < 190 || begun[2] > 310 {
		t.Errorf("the first walks begin at %v", begun)
	}
	h.climb = climb{starts: slices.Clone(starts)}
	if h.depart(); len(h.climb.walks) > 0 {
		t.Error("walks begin where others have begun")
	}
}

// TestWalk: a walk goes to what is no worse, to what is worse while it is warm, and tests what is better than all before. What fails
// sends it back to the least point, and what fails again and again is left as it is.
func TestWalk(t *testing.T) {
	h, at := made(t, Config{Levels: 2})
	for x, cost := range []float64{100, 99, 101, 98, 97, 200} {
		h.score(at(x), 2, cost)
	}
	for x, cost := range []float64{100, 99, 101, math.NaN(), 150} {
		h.score(at(x), 1, cost)
	}
	h.climb.steps = 100
	h.climb.walks = []walk{{at: at(0), least: at(0), next: at(1), blame: make([]int, len(h.code.Sizes))}}
	w := &h.climb.walks[0]
	propose := func(c candidate) {
		t.Helper()
		w.next = c
		if len(h.arrivals()) > 0 {
			h.try(w)
		}
	}
	propose(at(1))
	if w.at != at(1) || w.least != at(1) {
		t.Fatalf("after a better point the walk is at %v, its least is %v", w.at, w.least)
	}
	propose(at(5))
	if w.at != at(1) {
		t.Error("a warm walk goes to twice the cost")
	}
	h.climb.asked = h.climb.steps
	for range 1000 {
		if propose(at(2)); w.at != at(1) {
			t.Fatal("a cold walk goes to what is worse by 2 %")
		}
	}
	h.climb.asked = 0
	worse := 0
	for range 1000 {
		w.at = at(1)
		if propose(at(0)); w.at == at(0) {
			worse++
		}
	}
	// exp(-1 / (99/750)) is 0.0005, and for a cost of 9,900 it would be 0.93.
	if worse > 20 {
		t.Errorf("a walk of cost 99 goes to 100 %d times in 1000", worse)
	}
	for range blamed {
		if w.blame[h.sighted[0]] == blamed {
			t.Fatal("left as it is too early")
		}
		if propose(at(3)); w.at != at(1) || w.least != at(1) {
			t.Fatalf("after a failure the walk is at %v, its least is %v", w.at, w.least)
		}
	}
	if w.blame[h.sighted[0]] != blamed || len(w.free) > 0 {
		t.Errorf("the blame after %d failures is %v, and %v may change", blamed, w.blame, w.free)
	}
	if propose(at(4)); w.at != at(4) || w.least != at(4) || w.blame[h.sighted[0]] != 0 || !slices.Equal(w.free, h.sighted) {
		t.Errorf("a better point that stands: the walk is at %v, its least is %v, the blame is %v, and %v may change", w.at, w.least, w.blame, w.free)
	}
}

// TestStep: a step that makes a parameter active gives it the value that it had before in this walk, or one near that, not its default.
func TestStep(t *testing.T) {
	s, err := space.New("hidden", []space.Parameter{space.Bool("on"), space.Range("x", 0, 99).WithDefault(0).If("on")})
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := New(s, 1, random.New(s, 1), Config{Levels: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := strategy.(*halving)
	off, err := s.Parse("on=false")
	if err != nil {
		t.Fatal(err)
	}
	at := h.candidate(off)
	h.score(at, 2, 5)
	h.climb.starts = []candidate{at}
	h.depart()
	w := &h.climb.walks[0]
	w.values[1] = 60
	kept := 0
	for range 200 {
		h.proposed = nil
		h.step(w)
		if h.point(h.addProposed()[0]).Int("x") == 60 {
			kept++
		}
	}
	if kept < 100 {
		t.Errorf("of 200 steps %d keep the value", kept)
	}
	on, err := s.Parse("on=true x=80")
	if err != nil {
		t.Fatal(err)
	}
	w.at = h.candidate(on)
	h.step(w)
	w.at = at
	if h.step(w); w.values[1] != 80 {
		t.Errorf("the walk has been at 80, and its value is %d", w.values[1])
	}
}

// TestSettle: an island has a best of its own, and what it finds joins all else. A bound that is no better than the record is no
// place for one, and neither is a point where walks begin.
func TestSettle(t *testing.T) {
	h, at := made(t, Config{Levels: 1})
	h.score(at(0), 0, 10)
	h.score(at(1), 1, 8, space.Metric{Name: space.MetricBound, Value: 10})
	h.score(at(2), 1, 9, space.Metric{Name: space.MetricBound, Value: 9})
	h.climb = climb{starts: []candidate{at(0)}}
	for x := range 3 {
		h.climb.walks = append(h.climb.walks, walk{at: at(3), least: at(x)})
	}
	if h.arrived(); !slices.Equal(h.climb.found, []candidate{at(1), at(2)}) {
		t.Errorf("a climb has found %v", h.climb.found)
	}
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
	if h.settle() {
		t.Error("an island once more")
	}
}
