package search_test

import (
	"testing"

	"tune/search"
	"tune/space"
)

// TestLeaders: points come by turns, once, and none that failed in its source.
func TestLeaders(t *testing.T) {
	in, err := space.New("in", []space.Parameter{space.Range("x", 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	ok := func(x int, cost float64) space.Observation {
		return space.Observation{Point: in.At(uint64(x)), Outcome: space.Outcome{Status: space.OK, Cost: cost}}
	}
	approximate := ok(9, 0)
	approximate.Outcome.Fidelity = 1
	sources := []space.Source{
		{Observations: []space.Observation{ok(3, 3), ok(1, 1), ok(2, 2), ok(4, 0.5), {Point: in.At(4), Outcome: space.Fail(space.Crashed, "no")}, approximate}},
		{},
		{Observations: []space.Observation{ok(1, 100), ok(5, 200), ok(5, 300), ok(6, 200)}},
	}
	for n, want := range map[int]string{0: "", 1: "1", 2: "12", 3: "125", 10: "12536"} {
		got := ""
		for _, p := range search.Leaders(sources, n) {
			got += p.Key()[len("x="):]
		}
		if got != want {
			t.Errorf("the best %d are %s, not %s", n, got, want)
		}
	}
}
