package anneal

import (
	"testing"

	"tune/space"
)

// TestMetropolis: a hot chain accepts most of what is worse by the spread of the costs, a cold one nothing of it, and
// each what is better.
func TestMetropolis(t *testing.T) {
	in, err := space.New("in", []space.Parameter{space.Range("x", 0, 99)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(in, 1, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		a.note(in.At(uint64(i)), space.Outcome{Status: space.OK, Cost: float64(i)})
	}
	if got := a.spread(); got != 25 {
		t.Fatalf("the spread is %v", got)
	}
	accepted := func(temperature, worse float64) int {
		n := 0
		for range 1000 {
			c := chain{at: in.At(0), cost: 50, temperature: temperature}
			if a.step(&c, in.At(1), 50+worse); c.at.Equal(in.At(1)) {
				n++
			}
		}
		return n
	}
	// exp(-1/10) is 0.905.
	if n := accepted(10, 25); n < 870 || n > 940 {
		t.Errorf("a hot chain accepts %d of 1000", n)
	}
	if n := accepted(0.05, 25); n != 0 {
		t.Errorf("a cold chain accepts %d of 1000", n)
	}
	for _, temperature := range []float64{10, 0.05} {
		if n := accepted(temperature, -1); n != 1000 {
			t.Errorf("at temperature %v, %d of 1000 better points are accepted", temperature, n)
		}
	}
}

// TestCools: the temperature falls with each evaluation, and a chain that found nothing for long begins anew.
func TestCools(t *testing.T) {
	in, err := space.New("in", []space.Parameter{space.Range("x", 0, 99), space.Range("y", 0, 99)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(in, 1, Config{Chains: 1, Patience: 10})
	if err != nil {
		t.Fatal(err)
	}
	last := 1.0
	for i := range 11 {
		p := a.Ask(space.Progress{Told: i, Left: 1})
		a.Tell([]space.Trial{{Number: i, Proposal: p[0]}}, []space.Outcome{{Status: space.OK, Cost: 1}})
		if now := a.chains[0].temperature; now >= last {
			t.Fatalf("after %d evaluations the temperature is %v, and was %v", i+1, now, last)
		} else {
			last = now
		}
	}
	a.Ask(space.Progress{Told: 11, Left: 1})
	if got := a.chains[0].temperature; got != a.cfg.Temperature || a.starts != 2 {
		t.Errorf("after %d starts the temperature is %v", a.starts, got)
	}
}
