package halving

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/search/random"
	"tune/space"
)

// made returns the strategy for a line of 100 points, and the candidate of each.
func made(t *testing.T, c Config) (*halving, func(x int) candidate) {
	t.Helper()
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, 99)})
	if err != nil {
		t.Fatal(err)
	}
	strategy, err := New(s, 1, random.New(s, 1), c)
	if err != nil {
		t.Fatal(err)
	}
	h := strategy.(*halving)
	return h, func(x int) candidate {
		p, err := s.Parse(fmt.Sprintf("x=%d", x))
		if err != nil {
			t.Fatal(err)
		}
		return h.candidate(p)
	}
}

// score tells what a candidate comes to at a level; NaN is a failure.
func (h *halving) score(c candidate, level int, cost float64, metrics ...space.Metric) {
	h.asked, h.level = []candidate{c}, level
	o := space.Outcome{Status: space.OK, Cost: cost, Fidelity: level, Metrics: metrics}
	if math.IsNaN(cost) {
		o = space.Outcome{Status: space.Crashed, Fidelity: level}
	}
	h.Tell([]space.Trial{{Proposal: space.Proposal{Point: h.point(c), Fidelity: level}}}, []space.Outcome{o})
}

// TestFalls: how far the cost of each fidelity falls until the full one is noted with each full score, and the last 32 count.
func TestFalls(t *testing.T) {
	failed := math.NaN()
	for _, c := range []struct {
		name  string
		costs [][3]float64 // of one point after the other, the cheapest fidelity first
		falls [3][]float64 // by level, 0 is the full one
		best  float64
	}{
		{"nothing", nil, [3][]float64{}, math.Inf(1)},
		{"one", [][3]float64{{100, 90, 70}}, [3][]float64{1: {20}, 2: {30}}, 70},
		{"of several each", [][3]float64{{100, 90, 70}, {50, 60, 55}}, [3][]float64{1: {20, 5}, 2: {30, -5}}, 55},
		{"the best stays", [][3]float64{{50, 50, 40}, {60, 60, 60}}, [3][]float64{1: {10, 0}, 2: {10, 0}}, 40},
		{"a full score that failed tells nothing", [][3]float64{{100, 90, failed}}, [3][]float64{}, math.Inf(1)},
		{"nor does a cheap one", [][3]float64{{failed, 90, 70}}, [3][]float64{1: {20}}, 70},
		{"nor one between", [][3]float64{{100, failed, 70}}, [3][]float64{2: {30}}, 70},
	} {
		h, at := made(t, Config{Levels: 2})
		for x, costs := range c.costs {
			for i, cost := range costs {
				h.score(at(x), 2-i, cost)
			}
		}
		for level, want := range c.falls {
			if !slices.Equal(h.falls[level], want) {
				t.Errorf("%s: the falls from level %d are %v, want %v", c.name, level, h.falls[level], want)
			}
		}
		if h.best != c.best {
			t.Errorf("%s: the best is %v, want %v", c.name, h.best, c.best)
		}
	}
	h, at := made(t, Config{Levels: 1})
	var want []float64
	for x := range 40 {
		h.score(at(x), 1, 200)
		h.score(at(x), 0, float64(x))
		want = append(want, float64(200-x))
	}
	if want = want[8:]; !slices.Equal(h.falls[1], want) {
		t.Errorf("of 40 falls %v are kept, want the last 32, %v", h.falls[1], want)
	}
}

// TestPromising: a point is promoted while its full cost may be no worse than the best, as far as the largest fall tells, and
// its bound leaves room.
func TestPromising(t *testing.T) {
	none := math.Inf(-1)
	for _, c := range []struct {
		name              string
		falls             []float64
		best, cost, bound float64
		want              bool
	}{
		{"nothing is known", nil, math.Inf(1), 1e9, none, true},
		{"no fall is known", nil, 10, 1e9, none, true},
		{"it could fall so far", []float64{1, 30, 2}, 10, 40, none, true},
		{"it could not", []float64{1, 30, 2}, 10, 40.5, none, false},
		{"costs that rise", []float64{-5, -7}, 10, 5, none, true},
		{"costs that rise too far", []float64{-5, -7}, 10, 5.5, none, false},
		{"it is below the best already", []float64{0}, 10, 9, none, true},
		{"its bound leaves room", []float64{30}, 10, 40, 9.5, true},
		{"its bound is the best", []float64{30}, 10, 40, 10, false},
		{"its bound is worse", nil, 10, 5, 11, false},
	} {
		h, _ := made(t, Config{Levels: 2})
		h.best, h.record, h.falls[1] = c.best, c.best, c.falls
		h.falls[2] = []float64{1e12} // of another level, which says nothing here
		if got := h.promising(&view{bound: c.bound}, c.cost, 1); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestPromoted: of a group one in Keep goes on, the best by what full cost they may have.
func TestPromoted(t *testing.T) {
	for _, c := range []struct {
		name  string
		costs string // at level 1, by x
		falls []float64
		best  float64
		keep  int
		want  []int // x
	}{
		{"one of three", "30 10 20", nil, math.Inf(1), 3, []int{1}},
		{"a part of three counts as three", "40 30 20 10", nil, math.Inf(1), 3, []int{3, 2}},
		{"one of two", "40 10 30 20", nil, math.Inf(1), 2, []int{1, 3}},
		{"one alone", "40", nil, math.Inf(1), 3, []int{0}},
		{"of equal ones the first", "10 10 10", nil, math.Inf(1), 3, []int{0}},
		{"what failed is none of the group", "NaN 50 NaN 40 NaN 60", nil, math.Inf(1), 3, []int{3}},
		{"all failed", "NaN NaN", nil, math.Inf(1), 3, nil},
		{"a fall that all have changes nothing", "30 10 20", []float64{15, 15}, 5, 3, []int{1}},
		{"what cannot come near the best stays behind", "30 50 40", []float64{15}, 14, 3, nil},
		{"of those that are chosen", "30 29 40 50", []float64{15}, 14, 2, []int{1}},
	} {
		h, at := made(t, Config{Levels: 2, Keep: c.keep})
		x := 0
		var group []candidate
		for word := range strings.FieldsSeq(c.costs) {
			var cost float64
			if _, err := fmt.Sscan(word, &cost); err != nil {
				t.Fatal(err)
			}
			h.score(at(x), 2, 0)
			h.score(at(x), 1, cost)
			group = append(group, at(x))
			x++
		}
		h.group, h.level, h.falls[1], h.best = group, 1, c.falls, c.best
		var got []int
		for _, p := range h.promoted() {
			got = append(got, h.point(p).Int("x"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v go on, want %v", c.name, got, c.want)
		}
	}
}

// TestRemaining: when nothing else is left, the points that were not promoted follow, the cheapest first. Those that failed come last,
// as do those that were never scored, in the order in which they became known. What has a full score does not come again.
func TestRemaining(t *testing.T) {
	failed := math.NaN()
	h, at := made(t, Config{Levels: 2})
	for x, cost := range []float64{30, failed, -10, 20, failed, 10, 30} {
		h.score(at(x), 2, cost)
	}
	at(7)
	h.score(at(3), 0, 5)
	h.score(at(5), 0, failed)
	var got []int
	for _, c := range h.remaining() {
		got = append(got, h.point(c).Int("x"))
	}
	if want := []int{2, 0, 6, 1, 4, 7}; !slices.Equal(got, want) {
		t.Errorf("%v follow, want %v", got, want)
	}
}

// TestPromotedByChance: where falls differ by more than costs do, each has its turn, and where they differ by less the cheapest
// goes on every time.
func TestPromotedByChance(t *testing.T) {
	count := func(falls []float64) map[int]int {
		h, at := made(t, Config{Levels: 1, Keep: 3})
		for x := range 3 {
			h.score(at(x), 1, float64(100+10*x))
		}
		h.group, h.level = []candidate{at(0), at(1), at(2)}, 1
		h.falls[1] = falls
		h.rng = rand.New(rand.NewPCG(1, 1))
		chosen := map[int]int{}
		for range 600 {
			for _, c := range h.promoted() {
				chosen[h.point(c).Int("x")]++
			}
		}
		return chosen
	}
	if got := count([]float64{0, 9}); got[0] != 600 {
		t.Errorf("falls that differ by less than the costs: %v go on", got)
	}
	// Each falls by 0 or 15: the second is ahead of the first where it falls and the first does not, which is a quarter.
	got := count([]float64{0, 15})
	if share := float64(got[1]) / 600; share < 0.18 || share > 0.32 || got[2] > 0 || got[0]+got[1] != 600 {
		t.Errorf("falls that differ by more than one step of the costs: %v go on", got)
	}
	// A fall is a gain: the third is the first where it alone falls far, which is 9 of 64, and not where the two others rise, 3 of 64.
	if share := float64(count([]float64{0, 0, 0, 100})[2]) / 600; share < 0.1 || share > 0.19 {
		t.Errorf("of falls that are seldom and far, the third has %v of the turns", share)
	}
}
