package space_test

import (
	"slices"
	"testing"

	"tune/space"
)

// TestBestFirst: observations come in the order of quality, and of equal ones by key; what is sorted is a copy.
func TestBestFirst(t *testing.T) {
	s, err := space.New("here", []space.Parameter{space.Range("x", 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	ok := func(x int, cost float64) space.Observation {
		return space.Observation{Point: s.At(uint64(x)), Outcome: space.Outcome{Status: space.OK, Cost: cost}}
	}
	failed := func(x int) space.Observation {
		return space.Observation{Point: s.At(uint64(x)), Outcome: space.Fail(space.Crashed, "")}
	}
	keys := func(s space.Source) (out []string) {
		for _, o := range s.Observations {
			out = append(out, o.Point.Key())
		}
		return out
	}
	given := []space.Source{{Name: "a", Observations: []space.Observation{failed(8), ok(5, 3), ok(4, 3), failed(7), ok(9, 1)}}, {Name: "b"}}
	got := space.BestFirst(given)
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || len(got[1].Observations) != 0 {
		t.Fatalf("%+v", got)
	}
	if want := []string{"x=9", "x=4", "x=5", "x=7", "x=8"}; !slices.Equal(keys(got[0]), want) {
		t.Errorf("the order is %v, want %v", keys(got[0]), want)
	}
	if want := []string{"x=8", "x=5", "x=4", "x=7", "x=9"}; !slices.Equal(keys(given[0]), want) {
		t.Errorf("the sources themselves become %v", keys(given[0]))
	}
}
