package native

import (
	"slices"
	"testing"

	"tune/kernels/native/timing"
)

// TestGoesOn: how many turns a candidate has beside one that takes a second for all its turns.
func TestGoesOn(t *testing.T) {
	for _, test := range []struct {
		turns   []float64 // of the candidate, the last one repeated
		perCall float64
		late    int // from which round on the limit is over
		want    int
	}{
		{[]float64{1}, 1e-6, 99, mostTurns},
		{[]float64{1.09}, 1e-6, 99, mostTurns},
		{[]float64{1.2}, 1e-6, 99, leastTurns},
		{[]float64{1.9, 1.7, 1.5, 1.3, 1.3}, 1e-6, 99, leastTurns + 1},
		{[]float64{1.9, 1.7, 1.5, 1.4, 1.3, 1.2}, 1e-6, 99, mostTurns/2 + 1},
		{[]float64{4.9, 1.05, 1.1}, 1e-6, 99, mostTurns},
		{[]float64{6}, 1e-6, 99, 2},
		{[]float64{6, 1.05}, 1e-6, 99, mostTurns},
		{[]float64{6}, timing.SampleSeconds, 99, 1},
		{[]float64{1}, timing.SampleSeconds, 3, 3},
		{[]float64{1}, 1e-6, 0, 2},
		{[]float64{1}, timing.Slow, 99, 1},
	} {
		e := &surveyed{m: &meter{perCall: test.perCall}}
		for round := range mostTurns {
			if e.goesOn(round, 1, round >= test.late) {
				e.turns = append(e.turns, test.turns[min(len(e.turns), len(test.turns)-1)])
			}
		}
		if len(e.turns) != test.want {
			t.Errorf("turns of %v, %g s a call, late from %d: %d, want %d", test.turns, test.perCall, test.late, len(e.turns), test.want)
		}
	}
}

// TestFewCases: the asked shape is always checked, and over some seeds so is every other case.
func TestFewCases(t *testing.T) {
	var cases []Case
	for _, name := range []string{"asked", "apart", "a", "b", "c", "d", "e"} {
		cases = append(cases, Case{Name: name})
	}
	seen := map[string]int{}
	for seed := range uint64(100) {
		few := fewCases(cases, seed)
		if len(few) != 2+surveyCases || few[0].Name != "asked" || few[1].Name != "apart" {
			t.Fatalf("seed %d: %v", seed, few)
		}
		for _, one := range few {
			seen[one.Name]++
		}
		if again := fewCases(cases, seed); !slices.EqualFunc(few, again, func(a, b Case) bool { return a.Name == b.Name }) {
			t.Errorf("seed %d: other cases the second time", seed)
		}
	}
	for _, one := range cases {
		if seen[one.Name] < 15 {
			t.Errorf("%s was checked for %d of 100 seeds", one.Name, seen[one.Name])
		}
	}
	for n := range 3 {
		if few := fewCases(cases[:n], 1); len(few) != n {
			t.Errorf("of %d cases %d are checked", n, len(few))
		}
	}
}

// TestRevisitOnePlace: large buffers have one place, which the second sample comes to again, so that no further call is made.
func TestRevisitOnePlace(t *testing.T) {
	for taken, want := range []int{1, 1, 0, 0} {
		f := &fake{seconds: 0.02}
		m := newFakeMeter(f, 0)
		m.bytes, m.taken = 64<<20, taken
		if err := m.revisit(t.Context()); err != nil || len(f.requests) != want {
			t.Errorf("after %d samples: %d requests, want %d: %v", taken, len(f.requests), want, err)
		}
	}
}

// TestShortTurns: a turn is ten samples, and long calls make it no longer than in a search.
func TestShortTurns(t *testing.T) {
	for _, test := range []struct {
		length, perCall float64
		want            int
	}{
		{timing.GlanceSeconds, 50e-9, 10}, {timing.GlanceSeconds, 20e-6, 10}, {timing.GlanceSeconds, 0.3e-3, 4}, {timing.GlanceSeconds, 2e-3, 3},
		{timing.GlanceSeconds, 0.1, 1}, {timing.BurstSeconds, 50e-9, 10}, {timing.BurstSeconds, 1e-3, 5}, {timing.SampleSeconds, 50e-9, 1},
	} {
		m := newFakeMeter(&fake{seconds: test.perCall}, 0)
		m.length = test.length
		m.calls = timing.Calls(m.perCall, m.length)
		if got := m.bursts(m.turn()); got != test.want {
			t.Errorf("calls of %g s, samples of %g s: a turn of %d samples, want %d", test.perCall, test.length, got, test.want)
		}
	}
}
