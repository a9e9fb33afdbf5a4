package timing

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// lab is a series whose turns cost what a test says, on a clock that goes on by as much. Costs are in seconds.
type lab struct {
	Series
	clock time.Time
	order []int // whose turn it was
}

// newLab makes a series of so many entrants. cost is that of a turn, in the given round.
func newLab(entrants int, set kernels.Series, cost func(entrant, round int) (float64, error)) *lab {
	l := &lab{clock: time.Unix(0, 0)}
	round := 0
	l.Series = Series{Series: set, Entrants: entrants, Now: func() time.Time { return l.clock }}
	l.Begin = func(_ context.Context, r int) error {
		round = r
		return nil
	}
	l.Turn = func(_ context.Context, i int) (float64, error) {
		l.order = append(l.order, i)
		c, err := cost(i, round)
		l.clock = l.clock.Add(time.Duration(c * float64(time.Second)))
		return c, err
	}
	return l
}

// always gives each entrant one cost.
func always(costs ...float64) func(int, int) (float64, error) {
	return func(i, _ int) (float64, error) { return costs[i], nil }
}

// disturbed gives two entrants their costs on a machine that others use in all rounds but every n-th one.
func disturbed(n int) func(int, int) (float64, error) {
	return func(i, round int) (float64, error) {
		cost := []float64{1, 0.9}[i]
		if round%n != 0 {
			cost *= 1.2 + 0.1*float64(round%7)
		}
		return cost, nil
	}
}

// rounds returns how many rounds each entrant had.
func (l *lab) rounds(entrants int) (n []int) {
	for i := range entrants {
		n = append(n, len(l.Costs(i)))
	}
	return n
}

// TestSeriesRounds: how many rounds each entrant has: the first is the baseline.
func TestSeriesRounds(t *testing.T) {
	long := kernels.Series{Limit: time.Hour}
	confirm := kernels.Series{Limit: time.Hour, Confirm: true}
	// A finalist that is behind in three rounds of four, and ahead in the fourth, is not proven to be behind.
	unproven := func(i, round int) (float64, error) {
		costs := [][]float64{{1, 1}, {0.8, 1.25}, {1.25, 0.8}}[i]
		if round%4 == 3 {
			return costs[1], nil
		}
		return costs[0], nil
	}
	// A finalist that is a little ahead in every eighth round, and behind otherwise, is so with 95 % confidence and not with 99 %.
	nearly := func(i, round int) (float64, error) {
		if i == 2 && round%8 == 5 {
			return 0.799, nil
		}
		return []float64{1, 0.8, 0.81}[i], nil
	}
	for _, c := range []struct {
		name string
		set  kernels.Series
		cost func(int, int) (float64, error)
		want []int
	}{
		{"a confirming series on a machine that is disturbed half of the time", confirm, disturbed(2), []int{30, 30}},
		{"more often", confirm, disturbed(3), []int{43, 43}},
		{"nearly always", confirm, disturbed(5), []int{63, 63}},
		{"the limit holds then too", kernels.Series{Limit: 110 * time.Second, Confirm: true}, disturbed(5), []int{42, 42}},
		{"one finalist", long, always(1, 0.9), []int{21, 21}},
		{"one that is confirmed", confirm, always(1, 0.9), []int{30, 30}},
		{"what is proven to be behind leaves after sixteen", long, always(1, 0.8, 0.9), []int{21, 21, 16}},
		{"what is behind, but for two rounds of sixteen, stays longer", long, nearly, []int{28, 28, 28}},
		{"whichever it is", long, always(1, 0.9, 0.8), []int{21, 16, 21}},
		{"finalists that are alike go on", long, always(1, 0.8, 0.8), []int{63, 63, 63}},
		{"what is behind, and not proven to be, goes on", long, unproven, []int{63, 63, 63}},
		{"of three", long, always(1, 0.7, 0.8, 0.9), []int{21, 21, 16, 16}},
		// Rounds of 1.4 s. The fourth is over after the limit, and an interval takes seven.
		{"past the limit it goes on to an interval", kernels.Series{Limit: 5 * time.Second}, always(0.7, 0.7), []int{7, 7}},
		// Rounds of 2 s. After three times the limit there is no interval, and no more rounds.
		{"but not to the end of the world", kernels.Series{Limit: 3 * time.Second}, always(1, 1), []int{5, 5}},
		{"one round there always is", kernels.Series{}, always(1, 1), []int{1, 1}},
		// Past the limit, the one that is ahead alone has its interval.
		{"the slower ones leave when the limit is past", kernels.Series{Limit: 5 * time.Second}, always(1, 1, 0.6), []int{7, 2, 7}},
		{"whichever they are", kernels.Series{Limit: 5 * time.Second}, always(1, 0.6, 1), []int{7, 7, 2}},
	} {
		entrants := len(c.want)
		l := newLab(entrants, c.set, c.cost)
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := l.rounds(entrants); !slices.Equal(got, c.want) {
			t.Errorf("%s: the rounds are %v, want %v", c.name, got, c.want)
		}
		for i := 1; i < entrants; i++ {
			if l.Failed(i) {
				t.Errorf("%s: entrant %d is at fault", c.name, i)
			}
		}
	}
}

// TestSeriesMean: the cost of a round is the least of its turns, or their mean where that is asked.
func TestSeriesMean(t *testing.T) {
	for want, asMean := range map[float64]bool{1: false, 2: true} {
		turns := 0
		l := newLab(2, kernels.Series{Limit: time.Hour}, func(i, _ int) (float64, error) {
			if i == 1 {
				turns++
			}
			if i == 1 && turns%8 == 0 {
				return 9, nil
			}
			return 1, nil
		})
		l.Turns, l.Mean = 8, asMean
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if Median(l.Costs(0)) != 1 || Median(l.Costs(1)) != want {
			t.Errorf("mean: %v: the costs are %v and %v", asMean, l.Costs(0), l.Costs(1))
		}
	}
}

// TestSeriesCounted: rounds that do not count are repeated, up to 63, and the observer is told how many that makes.
func TestSeriesCounted(t *testing.T) {
	var seen [][2]int
	set := kernels.Series{Limit: time.Hour, Confirm: true, Observe: func(pair, of int) { seen = append(seen, [2]int{pair, of}) }}
	l := newLab(2, set, always(1, 0.9))
	l.Counted = func(n int) int { return max(n-4, 0) } // the first four do not
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := l.rounds(2); n[1] != 34 || len(seen) != 34 || seen[0] != [2]int{1, 30} || seen[2] != [2]int{3, 32} || seen[33] != [2]int{34, 34} {
		t.Errorf("%v rounds, and the observer saw %v", n, seen)
	}
	l = newLab(2, kernels.Series{Limit: time.Hour}, always(1, 0.9))
	l.Counted = func(int) int { return 0 }
	if err := l.Run(t.Context()); err != nil || l.rounds(2)[0] != 63 {
		t.Errorf("where none counts there are %v rounds: %v", l.rounds(2), err)
	}
}

// TestSeriesAffordable: the observer is told of no more rounds than the limit allows, as soon as one has shown how long they take.
func TestSeriesAffordable(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   kernels.Series
		costs []float64 // of a round, in seconds
		want  [2]int    // what is told before the second round and before the last
	}{
		{"time for all", kernels.Series{Limit: time.Hour, Confirm: true}, []float64{1, 1}, [2]int{30, 30}},
		{"for eight", kernels.Series{Limit: 14 * time.Second, Confirm: true}, []float64{1, 1}, [2]int{8, 8}},
		{"of several, for eight", kernels.Series{Limit: 14 * time.Second}, []float64{1, 0.5, 0.5}, [2]int{8, 8}},
		{"for four, but an interval takes seven", kernels.Series{Limit: 7 * time.Second, Confirm: true}, []float64{1, 1}, [2]int{7, 7}},
		{"not even for that", kernels.Series{Limit: 3 * time.Second, Confirm: true}, []float64{1, 1}, [2]int{5, 5}},
	} {
		var seen [][2]int
		c.set.Observe = func(pair, of int) { seen = append(seen, [2]int{pair, of}) }
		l := newLab(len(c.costs), c.set, always(c.costs...))
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{seen[1][1], seen[len(seen)-1][1]}; got != c.want || len(seen) != c.want[1] {
			t.Errorf("%s: it tells of %v rounds, want %v; %d rounds", c.name, got, c.want, len(seen))
		}
	}
}

// TestSeriesFew: a series of few rounds ends on a disturbed machine too, and while it still chooses; it has an interval.
func TestSeriesFew(t *testing.T) {
	for _, set := range []kernels.Series{{Confirm: true, Limit: time.Hour}, {Limit: time.Hour}} {
		l := newLab(2, set, disturbed(9))
		l.Few = true
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := l.rounds(2); n[0] != fewRounds || n[1] != fewRounds {
			t.Errorf("confirming %v: %v rounds, want %d", set.Confirm, n, fewRounds)
		}
		if c := l.Final().Comparisons[0]; c.Pairs < LeastPairs || c.Low <= 1 || c.Unverified {
			t.Errorf("confirming %v: %+v", set.Confirm, c)
		}
	}
}

// TestSeriesRestless: a series that waits for a calm machine tells of no number of pairs.
func TestSeriesRestless(t *testing.T) {
	var seen []int
	set := kernels.Series{Limit: time.Hour, Confirm: true, Observe: func(_, of int) { seen = append(seen, of) }}
	l := newLab(2, set, disturbed(3))
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 43 || seen[29] != 30 || seen[30] != 0 || seen[42] != 0 {
		t.Errorf("it tells of %v", seen)
	}
}

// TestSeriesOrder: who has the turns of a round, so that what goes on meanwhile favours nobody.
func TestSeriesOrder(t *testing.T) {
	l := newLab(3, kernels.Series{Limit: time.Hour}, always(1, 1, 1))
	l.Turns = 4
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []int{0, 1, 2, 2, 1, 0, 2, 1, 0, 0, 1, 2, // forwards: the turns are 0110 of Thue and Morse
		2, 1, 0, 0, 1, 2, 0, 1, 2, 2, 1, 0} // and backwards
	if !slices.Equal(l.order[:24], want) || !slices.Equal(l.order[24:48], want) {
		t.Errorf("the turns are %v", l.order[:48])
	}
	// One finalist that is to be confirmed has the first turn by chance, which the seed draws.
	first := func(seed uint64) string {
		l := newLab(2, kernels.Series{Limit: time.Hour, Confirm: true, Seed: seed}, always(1, 1))
		var text strings.Builder
		l.End = func(context.Context, int) error {
			text.WriteByte("01"[l.order[len(l.order)-2]])
			if back := l.order[len(l.order)-2] == 1; back != l.Backward() {
				t.Errorf("the round was backward: %v", back)
			}
			return nil
		}
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	one := first(1)
	if n := strings.Count(one, "1"); n < 8 || n > 22 || strings.Count(one, "01") > 12 || strings.Count(one, "00") == 0 || strings.Count(one, "11") == 0 {
		t.Errorf("the first turns are of %s", one)
	}
	if first(1) != one || first(2) == one {
		t.Errorf("the seed does not draw who is first: %s, %s, %s", one, first(1), first(2))
	}
}

// TestSeriesSlow: what takes long has one turn in a round, and one at all where the limit leaves no time for an interval.
func TestSeriesSlow(t *testing.T) {
	l := newLab(2, kernels.Series{Limit: time.Hour}, always(0.1, 2))
	l.Turns, l.Slow = 4, func(i int) bool { return i == 1 }
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 0, 0, 0}; !slices.Equal(l.order[:5], want) || len(l.Costs(1)) != 21 {
		t.Errorf("the turns are %v…, %d rounds", l.order[:5], len(l.Costs(1)))
	}
	for _, c := range []struct {
		name       string
		costs      []float64
		slow       []bool
		rounds     []int
		low, high  float64
		unverified bool
	}{
		// 4 s and 1 s of a limit of 10 s: the baseline is measured once, and that one time may be half or twice as long.
		{"a slow baseline", []float64{4, 1}, []bool{true, false}, []int{7, 7}, 2, 8, false},
		{"whose luck may be all there is", []float64{4, 3}, []bool{true, false}, []int{7, 7}, 2. / 3, 8. / 3, true},
		{"a slow finalist", []float64{4, 3}, []bool{true, true}, []int{1, 1}, 0, 0, true},
		{"neither", []float64{4, 1}, []bool{false, false}, []int{7, 7}, 4, 4, false},
	} {
		l := newLab(2, kernels.Series{Limit: 10 * time.Second, Confirm: true}, always(c.costs...))
		l.Slow = func(i int) bool { return c.slow[i] }
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := l.Final().Comparisons[0]
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if got := l.rounds(2); !slices.Equal(got, c.rounds) || len(f.Ratios) != f.Pairs || !near(f.Low, c.low) || !near(f.High, c.high) || f.Unverified != c.unverified {
			t.Errorf("%s: %v rounds, %+v", c.name, got, f)
		}
		if turns := strings.Count(string(asBytes(l.order)), "0"); l.Once() && turns != 1 {
			t.Errorf("%s: the baseline has %d turns", c.name, turns)
		}
	}
}

func asBytes(order []int) (text []byte) {
	for _, i := range order {
		text = append(text, byte('0'+i))
	}
	return text
}

// TestSeriesFaults: a finalist at fault is out, and the others go on; a baseline at fault, and any other error, ends the series.
func TestSeriesFaults(t *testing.T) {
	died, broken := kernels.Reject(space.Crashed, "it died"), errors.New("no core is left")
	failing := func(who, at int, err error) *lab {
		return newLab(3, kernels.Series{Limit: time.Hour}, func(i, round int) (float64, error) {
			if i == who && round == at {
				return 0, err
			}
			return []float64{1, 0.8, 0.8}[i], nil
		})
	}
	l := failing(2, 3, died)
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := l.Final()
	if got := l.rounds(3); !slices.Equal(got, []int{21, 21, 3}) || !l.Failed(2) || !l.Out(2) || l.Out(1) {
		t.Errorf("the rounds are %v", got)
	}
	if f.Best != 0 || f.Comparisons[0].Err != nil || f.Comparisons[1].Err != died || f.Comparisons[1].Pairs != 0 ||
		!slices.Equal(f.Comparisons[0].Ratios, slices.Repeat([]float64{1 / 0.8}, f.Comparisons[0].Pairs)) {
		t.Errorf("the final is %+v", f)
	}
	for _, c := range []struct {
		l    *lab
		want error
	}{{failing(0, 3, died), died}, {failing(1, 3, broken), broken}, {failing(0, 0, broken), broken}} {
		if err := c.l.Run(t.Context()); err != c.want {
			t.Errorf("the error is %v, want %v", err, c.want)
		}
	}
	// Whoever finds a fault later says so; what ended an entrant first stands.
	l = failing(9, 9, nil)
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Reject(1, died)
	l.Reject(1, broken)
	l.Reject(2, broken)
	if f := l.Final(); f.Best != -1 || f.Comparisons[0].Err != died || f.Comparisons[1].Err != broken {
		t.Errorf("where all are at fault the final is %+v", f)
	}
	// One that was left out is not at fault, until it is.
	l = newLab(3, kernels.Series{Limit: time.Hour}, always(1, 0.8, 0.9))
	if err := l.Run(t.Context()); err != nil || !l.Out(2) || l.Failed(2) {
		t.Fatalf("entrant 2 is out: %v, at fault: %v; %v", l.Out(2), l.Failed(2), err)
	}
	if l.Reject(2, died); !l.Failed(2) {
		t.Error("a fault of an entrant that was left out is not seen")
	}
}

// TestSeriesFinal: which finalist is ahead, and what it is told from.
func TestSeriesFinal(t *testing.T) {
	for _, c := range []struct {
		name       string
		costs      []float64
		best       int
		indistinct []bool
	}{
		{"the first is ahead", []float64{1, 0.8, 0.9}, 0, []bool{false, false}},
		{"the second is", []float64{1, 0.9, 0.8}, 1, []bool{false, false}},
		{"two are alike", []float64{1, 0.8, 0.8}, 0, []bool{false, true}},
		{"all are", []float64{1, 1, 1}, 0, []bool{true, true}},
		{"the best is as fast as the baseline", []float64{1, 1.2, 1}, 1, []bool{false, true}},
		{"all are slower", []float64{1, 1.2, 1.5}, 0, []bool{false, false}},
	} {
		l := newLab(3, kernels.Series{Limit: time.Hour}, always(c.costs...))
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		f := l.Final()
		for i, x := range f.Comparisons {
			if math.Abs(x.Ratio-c.costs[0]/c.costs[i+1]) > 1e-9 || math.Abs(x.Cost-c.costs[i+1]) > 1e-9 || x.Baseline != 1 || x.Indistinct != c.indistinct[i] || x.TooFew || x.Unverified {
				t.Errorf("%s: finalist %d is %+v", c.name, i, x)
			}
		}
		if f.Best != c.best {
			t.Errorf("%s: finalist %d is the best", c.name, f.Best)
		}
	}
	// The pairs of each finalist are selected twice: against the baseline, and against the one that it is to be told apart from.
	selected := 0
	l := newLab(3, kernels.Series{Limit: time.Hour}, always(1, 0.8, 0.9))
	l.Counting = func(int) (func(int) bool, bool) {
		selected++
		return func(int) bool { return true }, false
	}
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	selected = 0
	if l.Final(); selected != 4 {
		t.Errorf("the pairs of two finalists are selected %d times", selected)
	}
	// Where the clock went wrong every time, nothing is said, and nobody is at fault.
	l = newLab(2, kernels.Series{Limit: time.Hour}, always(1, 0))
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := l.Final(); f.Best != -1 || f.Comparisons[0].Err != nil || !f.Comparisons[0].Unverified || !f.Comparisons[0].Indistinct || !f.Comparisons[0].TooFew {
		t.Errorf("of a clock that lies: %+v", f)
	}
}

// TestSampling: how many samples a candidate has, and when it is stopped.
func TestSampling(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     Sampling
		samples []float64 // those after the last are like it
		taken   int
		stopped bool
		kept    int
	}{
		{"as many as are wanted", Sampling{Want: 11}, []float64{1}, 11, false, 11},
		{"one", Sampling{Want: 1, Best: 0.1}, []float64{1}, 1, false, 1},
		{"two", Sampling{Want: 2, Best: 1}, []float64{1.6}, 2, true, 2},
		{"as fast as the best", Sampling{Want: 11, Best: 1}, []float64{1}, 11, false, 11},
		{"far behind after two", Sampling{Want: 11, Best: 1}, []float64{2.1}, 2, true, 2},
		{"behind after two: a third one is cheap", Sampling{Want: 11, Best: 1}, []float64{1.6}, 3, true, 3},
		{"which may show that others worked", Sampling{Want: 11, Best: 1}, []float64{1.6, 1.6, 1}, 11, false, 11},
		{"a little behind after six", Sampling{Want: 11, Best: 1}, []float64{1.1}, 6, true, 6},
		{"hardly behind", Sampling{Want: 11, Best: 1}, []float64{1.04}, 11, false, 11},
		{"long calls that are clearly behind after one", Sampling{Want: 11, Best: 1, Long: true}, []float64{1.6}, 1, true, 1},
		{"long calls that are not", Sampling{Want: 11, Best: 1, Long: true}, []float64{1.4}, 3, true, 3},
		{"samples that cannot be are taken again", Sampling{Want: 4}, []float64{0, 0, 0, 1}, 7, false, 4},
		{"but not for ever", Sampling{Want: 4}, []float64{0}, 20, false, 0},
		{"nor those below the floor", Sampling{Want: 4, Floor: 2}, []float64{1}, 20, false, 0},
	} {
		taken := 0
		sum, stopped, err := c.set.Run(func(n int) (out []float64, err error) {
			for range n {
				out = append(out, c.samples[min(taken, len(c.samples)-1)])
				taken++
			}
			return out, nil
		})
		if err != nil || taken != c.taken || stopped != c.stopped || sum.Kept != c.kept {
			t.Errorf("%s: %d samples, stopped %v, %+v, %v", c.name, taken, stopped, sum, err)
		}
	}
	broken := errors.New("no core is left")
	if sum, _, err := (Sampling{Want: 11}).Run(func(n int) ([]float64, error) { return []float64{1}, broken }); err != broken || sum.Kept != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}
