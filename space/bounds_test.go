package space

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBoundsEnclose evaluates random expressions at every assignment of a random box: no outcome is one that the bounds
// exclude.
func TestBoundsEnclose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := drawParameters(t)
		text := drawTruth(t, params, 2)
		e, err := scopeOf(params).compile(text, len(params))
		if err != nil {
			t.Skip(err)
		}
		b := newBounds(params)
		ords := make([]int, len(params))
		for i, p := range params {
			lo := rapid.IntRange(0, p.Len()).Draw(t, "lo")
			b.box[i] = span{lo, rapid.IntRange(lo, p.Len()).Draw(t, "hi") - 1, rapid.Bool().Draw(t, "off")}
			if b.box[i].lo > b.box[i].hi {
				b.box[i].off = true
			}
		}
		possible := b.truth(e.root)
		var visit func(i int)
		visit = func(i int) {
			if i == len(ords) {
				if got := e.eval(ords); possible&(1<<got) == 0 {
					t.Fatalf("%s is %d at %v, which its bounds %04b over %v exclude", text, got, ords, possible, b.box)
				}
				return
			}
			if b.box[i].off {
				ords[i] = -1
				visit(i + 1)
			}
			for ords[i] = b.box[i].lo; ords[i] <= b.box[i].hi; ords[i]++ {
				visit(i + 1)
			}
		}
		visit(0)
	})
}

// TestWideParameters opens spaces whose domains are wide enough for ranges to be cut, and compares them with all
// combinations tried one by one.
func TestWideParameters(t *testing.T) {
	forms := []string{
		"a * b <= %d", "a %% (b + %d) == 0", "(b + %d) %% a == 0", "a + b * 3 > %d", "a == b + %d or b < a", "abs(a - b) >= %d",
		"%d <= a * b < 4000", "a // (b + 1) <= %d", "min(a, b) * 2 != %d", "a / b < %d.5", "a ** 2 <= %d * b", "-a <= %d - b",
		"not (a < %d and b > 7)", "max(a, b) %% 3 == 1 or a in [1, 2, %d]", "b %% a == 0 and a != %d", "(a if b > %d else b) < 40",
	}
	rapid.Check(t, func(t *rapid.T) {
		var params []Parameter
		for _, name := range []string{"a", "b"} {
			from := rapid.IntRange(-90, 90).Draw(t, "from")
			p := Stepped(name, from, from+rapid.IntRange(0, 150).Draw(t, "width"), rapid.IntRange(1, 3).Draw(t, "step"))
			if rapid.IntRange(0, 3).Draw(t, "list") == 0 {
				values := rapid.SliceOfNDistinct(rapid.IntRange(-50, 100), 1, 40, rapid.ID[int]).Draw(t, "values")
				p = Ints(name, values...)
			}
			params = append(params, p)
		}
		if rapid.Bool().Draw(t, "conditional") {
			params[1] = params[1].If(fmt.Sprintf("a > %d", rapid.IntRange(-50, 50).Draw(t, "threshold")))
		}
		var constraints []string
		for range rapid.IntRange(1, 3).Draw(t, "constraints") {
			constraints = append(constraints, fmt.Sprintf(rapid.SampledFrom(forms).Draw(t, "form"), rapid.IntRange(0, 60).Draw(t, "number")))
		}
		s, err := New("wide", params, constraints...)
		points := bruteForce(params, constraints)
		if err != nil {
			if len(points) > 0 {
				t.Fatalf("%v, but there are %d points", err, len(points))
			}
			return
		}
		if n, ok := s.Len(); !ok || n != uint64(len(points)) {
			t.Fatalf("%v has %d points (%t), not %d", constraints, n, ok, len(points))
		}
		for i, ords := range points {
			if p := s.At(uint64(i)); !slices.Equal(p.ords, ords) {
				t.Fatalf("point %d is %v, not %v", i, p.ords, ords)
			}
		}
	})
}

// TestRangesAreCut opens spaces that could not be tried value by value.
func TestRangesAreCut(t *testing.T) {
	const huge = 1 << 40
	for _, test := range []struct {
		params      []Parameter
		constraints []string
		points      uint64
	}{
		{[]Parameter{Range("a", 1, huge)}, []string{"a * 3 <= 1000"}, 333},
		{[]Parameter{Range("a", 1, huge)}, []string{"a > 10", "a <= 20 or a >= 1 << 39"}, 0},
		{[]Parameter{Range("a", 1, huge)}, []string{"720720 % a == 0"}, 240},
		{[]Parameter{Range("a", 0, huge)}, []string{"a % 1073741824 == 0"}, 1025},
		{[]Parameter{Range("a", 1, 8), Range("b", 1, huge)}, []string{"b % (a * 134217728) == 0"}, 8192 + 4096 + 2730 + 2048 + 1638 + 1365 + 1170 + 1024},
		{[]Parameter{Range("a", 0, 9), Range("b", 0, huge), Range("c", 0, huge)}, []string{"a * b < 100", "a > 2", "c <= a"}, 857},
	} {
		s, err := New("cut", test.params, test.constraints...)
		if test.points == 0 {
			if err == nil {
				t.Errorf("%v: no error", test.constraints)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", test.constraints, err)
			continue
		}
		if n, ok := s.Len(); n != test.points || !ok {
			t.Errorf("%v: %d points (%t), not %d", test.constraints, n, ok, test.points)
		}
	}
}
