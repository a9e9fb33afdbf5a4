package space

import (
	"math"
	"slices"
	"testing"
)

// TestObjective: the order of outcomes, the best first.
func TestObjective(t *testing.T) {
	ok := func(cost float64, fidelity int) Outcome { return Outcome{Status: OK, Cost: cost, Fidelity: fidelity} }
	var o Objective
	order := []Outcome{ok(-1, 0), ok(0, 0), ok(2, 0), ok(1, 1), ok(0, 2), Fail(Crashed, "x")}
	for i, a := range order {
		for j, b := range order {
			if got := o.Less(a, b); got != (i < j) {
				t.Errorf("%+v is better than %+v: %t", a, b, got)
			}
		}
	}
	// A failure has no cost, whatever stands there.
	failed := Outcome{Status: Timeout, Cost: -5}
	if o.Less(failed, ok(9, 3)) || o.Less(failed, Fail(Crashed, "x")) || o.Less(Fail(Crashed, "x"), failed) {
		t.Error("a failure is better than something")
	}
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
