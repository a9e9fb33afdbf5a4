package earlier

import (
	"fmt"
	"slices"
	"testing"

	"tune/results"
	"tune/space"
)

func values(m map[string]space.Value) func(space.Parameter) (space.Value, bool) {
	return func(p space.Parameter) (space.Value, bool) {
		v, ok := m[p.Name]
		return v, ok
	}
}

// TestCarry: of earlier measurements that come to the same point the best outcome stands, the first of equally good ones; what
// has no like is dropped, and counted.
func TestCarry(t *testing.T) {
	s, err := space.New("here", []space.Parameter{space.Range("x", 0, 9), space.Ints("tile", 4, 8)})
	if err != nil {
		t.Fatal(err)
	}
	ok := func(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost} }
	cheap := func(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost, Fidelity: 1} }
	type one struct {
		x, tile int64
		outcome space.Outcome
	}
	for _, c := range []struct {
		name                   string
		measured               []one
		want                   []string // key, cost and status of each observation
		same, adapted, dropped int
	}{
		{"each a point of its own", []one{{1, 4, ok(5)}, {2, 8, ok(3)}}, []string{"x=1 tile=4: 5 ok", "x=2 tile=8: 3 ok"}, 2, 0, 0},
		{"the better comes later", []one{{1, 4, ok(5)}, {1, 3, ok(3)}}, []string{"x=1 tile=4: 3 ok"}, 1, 1, 0},
		{"the better comes first", []one{{1, 4, ok(3)}, {1, 3, ok(5)}}, []string{"x=1 tile=4: 3 ok"}, 1, 1, 0},
		{"three", []one{{1, 4, ok(4)}, {1, 3, ok(2)}, {1, 2, ok(3)}}, []string{"x=1 tile=4: 2 ok"}, 1, 2, 0},
		{"the right one stands", []one{{1, 4, space.Fail(space.Crashed, "")}, {1, 3, ok(9)}}, []string{"x=1 tile=4: 9 ok"}, 1, 1, 0},
		{"before one that failed", []one{{1, 4, ok(9)}, {1, 3, space.Fail(space.Crashed, "")}}, []string{"x=1 tile=4: 9 ok"}, 1, 1, 0},
		{"the first of failures", []one{{1, 4, space.Fail(space.Timeout, "")}, {1, 3, space.Fail(space.Crashed, "")}}, []string{"x=1 tile=4: 0 timeout"}, 1, 1, 0},
		{"the full score stands", []one{{1, 4, cheap(1)}, {1, 3, ok(9)}}, []string{"x=1 tile=4: 9 ok"}, 1, 1, 0},
		{"the order of points is that of the first of each", []one{{2, 4, ok(1)}, {1, 4, ok(2)}, {2, 5, ok(0)}},
			[]string{"x=2 tile=4: 0 ok", "x=1 tile=4: 2 ok"}, 2, 1, 0},
		{"values at the end of a domain", []one{{44, 99, ok(1)}}, []string{"x=9 tile=8: 1 ok"}, 0, 1, 0},
	} {
		e := &Earlier{File: results.File{Path: "there"}}
		for _, m := range c.measured {
			o := m.outcome
			o.Seconds, o.Metrics = 4, []space.Metric{{Name: "m", Value: 1}}
			e.measurements = append(e.measurements, measurement{outcome: o,
				value: values(map[string]space.Value{"x": space.IntValue(m.x), "tile": space.IntValue(m.tile)})})
		}
		source, from := e.Carry(s)
		var got []string
		for _, o := range source.Observations {
			got = append(got, fmt.Sprintf("%s: %v %s", o.Point.Key(), o.Outcome.Cost, o.Outcome.Status))
			if o.Outcome.Seconds != 0 || o.Outcome.Metrics != nil {
				t.Errorf("%s: %s has the readings of another machine: %+v", c.name, o.Point.Key(), o.Outcome)
			}
		}
		if !slices.Equal(got, c.want) || from.Same != c.same || from.Adapted != c.adapted || from.Dropped != c.dropped || source.Name != "there" {
			t.Errorf("%s: %q of %q, %+v", c.name, got, source.Name, from)
		}
	}
	e := &Earlier{measurements: []measurement{{outcome: ok(1), value: values(map[string]space.Value{"other": space.IntValue(1)})}}}
	if source, from := e.Carry(s); len(source.Observations) != 0 || from.Dropped != 1 {
		t.Errorf("what shares no parameter: %+v, %+v", source, from)
	}
}
