package space

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAnalyse compares what constraints remove with points listed one by one.
func TestAnalyse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil || s.partial {
			return
		}
		params, constraints := s.Parameters(), s.Constraints()
		a := s.Analyse()
		count := func(texts []string) int64 { return int64(len(bruteForce(params, texts))) }
		if a.Combinations != nil && a.Combinations.Int64() != count(nil) {
			t.Fatalf("%d combinations, not %d", a.Combinations, count(nil))
		}
		for i, e := range a.Effects {
			if e.Alone != nil && e.Alone.Int64() != count(nil)-count(constraints[i:i+1]) {
				t.Fatalf("%s alone removes %d", e.Constraint, e.Alone)
			}
			if e.Last != nil && e.Last.Int64() != count(slices.Delete(slices.Clone(constraints), i, i+1))-int64(len(points)) {
				t.Fatalf("%s last removes %d", e.Constraint, e.Last)
			}
		}
		for i, used := range a.Used {
			seen := map[int]bool{}
			for _, ords := range points {
				if ords[i] >= 0 {
					seen[ords[i]] = true
				}
			}
			if used != len(seen) {
				t.Fatalf("%d values of %s are used, not %d", used, params[i].Name, len(seen))
			}
		}
	})
}

func TestSizeBeyond64Bits(t *testing.T) {
	var params []Parameter
	for i := range 12 {
		params = append(params, Range(string(rune('a'+i)), 0, 999))
	}
	s, err := New("vast", params, "a < b", "c != d")
	if err != nil {
		t.Fatal(err)
	}
	want := new(big.Int).Exp(big.NewInt(1000), big.NewInt(8), nil)
	want.Mul(want, big.NewInt(1000*999/2*1000*999))
	if n, ok := s.Size(); !ok || n.Cmp(want) != 0 {
		t.Errorf("%d points, not %d", n, want)
	}
	if _, ok := s.Len(); ok {
		t.Error("the number fits 64 bits")
	}
	if e := s.Analyse().Effects; e[0].Last.Cmp(new(big.Int).Mul(want, big.NewInt(1001))) >= 0 || e[1].Alone.Sign() <= 0 {
		t.Errorf("effects %v", e)
	}
}

func TestEstimate(t *testing.T) {
	s, err := New("x", []Parameter{Range("a", 0, 1<<40), Range("b", 0, 1<<40)}, "a <= b")
	if err != nil {
		t.Fatal(err)
	}
	accepted, from := s.Estimate(rand.New(rand.NewPCG(1, 2)), 10000)
	if share := float64(accepted) / 10000; share < 0.47 || share > 0.53 || from.Cmp(s.Product()) != 0 {
		t.Errorf("%v of %v", share, from)
	}
}

// TestConflicts names a smallest set of constraints that no point satisfies.
func TestConflicts(t *testing.T) {
	params := []Parameter{Range("a", 1, 9), Range("b", 1, 9), Range("c", 1, 9)}
	for _, test := range []struct {
		constraints []string
		want        string
	}{
		{[]string{"a < b", "b < c", "a + b + c < 100", "c < a"}, "these 3 constraints conflict, of which any smaller set can be satisfied: a < b; b < c; c < a"},
		{[]string{"a != 5", "a > 7", "b < 4", "a * b > 27"}, "these 2 constraints conflict, of which any smaller set can be satisfied: b < 4; a * b > 27"},
		{[]string{"a > 4", "a + b > 18 and c > 1"}, "none satisfies a + b > 18 and c > 1"},
	} {
		_, err := New("x", params, test.constraints...)
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.constraints, err, test.want)
		}
	}
	// With many constraints not all sets of three can be tried.
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("a + b + c != %d", 100+i))
	}
	many = append(many, "a < b", "b < c", "c < a")
	if _, err := New("x", params, many...); err == nil || !strings.Contains(err.Error(), "these 3 constraints conflict, of which none can be left out: a < b; b < c; c < a") {
		t.Errorf("many: %v", err)
	}
}
