package space

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// TestLess: what is better than what, and that nothing is better than itself or than what is better than it.
func TestLess(t *testing.T) {
	ok := func(cost float64, fidelity int) Outcome { return Outcome{Status: OK, Cost: cost, Fidelity: fidelity} }
	failed := func(s Status, cost float64) Outcome { return Outcome{Status: s, Cost: cost} }
	// Ranks, the best first; outcomes of one rank are no better than each other.
	ranks := [][]Outcome{
		{ok(-3, 0)},
		{ok(0, 0), ok(math.Copysign(0, -1), 0)},
		{ok(5, 0), {Status: OK, Cost: 5, Seconds: 9, Metrics: []Metric{{Name: "m", Value: 1}}}},
		{ok(5.5, 0)},
		{ok(1e300, 0)},
		{ok(-1e300, 1)}, // cheaper, and of a score that is worth less
		{ok(4, 1)},
		{ok(1, 2), ok(1, 2)},
		{{}, failed(Invalid, 0), failed(CompileFailed, 0), failed(WrongAnswer, -1), failed(Timeout, 7), failed(Crashed, 0),
			{Status: Crashed, Fidelity: 3}},
	}
	for i, rank := range ranks {
		for _, a := range rank {
			for j, other := range ranks {
				for _, b := range other {
					if got := (Objective{}).Less(a, b); got != (i < j) {
						t.Errorf("%+v is better than %+v: %v", a, b, got)
					}
					if got, want := (Objective{}).Order(a, b), cmp.Compare(i, j); got != want {
						t.Errorf("the order of %+v and %+v is %d, want %d", a, b, got, want)
					}
				}
			}
		}
	}
}

// TestObjective: the value of outcomes, the order of entries, and what reaches a target.
func TestObjective(t *testing.T) {
	ok := func(cost float64, fidelity int) Outcome { return Outcome{Status: OK, Cost: cost, Fidelity: fidelity} }
	var o Objective
	// A failure has no cost, whatever stands there.
	failed := Outcome{Status: Timeout, Cost: -5}
	if v := o.Value(failed); !math.IsInf(v, 1) || o.Value(ok(3, 1)) != 3 {
		t.Errorf("the value of a failure is %v", v)
	}
	entries := []Entry{{Number: 4, Outcome: ok(2, 0)}, {Number: 1, Outcome: Fail(Crashed, "x")}, {Number: 3, Outcome: ok(2, 0)}, {Number: 9, Outcome: ok(1, 0)}, {Number: 0, Outcome: failed}}
	slices.SortFunc(entries, o.Compare)
	for i, want := range []int{9, 3, 4, 0, 1} {
		if entries[i].Number != want {
			t.Errorf("place %d has entry %d, want %d", i, entries[i].Number, want)
		}
	}
	for _, c := range []struct {
		outcome Outcome
		target  float64
		want    bool
	}{{ok(2, 0), 2, true}, {ok(2.5, 0), 2, false}, {ok(1, 1), 2, false}, {failed, 2, false}} {
		if got := o.Reaches(c.outcome, c.target); got != c.want {
			t.Errorf("%+v reaches %v: %t", c.outcome, c.target, got)
		}
	}
	if !ok(1, 0).Counts() || ok(1, 1).Counts() || failed.Counts() {
		t.Error("what counts is wrong")
	}
}
