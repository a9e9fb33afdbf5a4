package space

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// differences counts the parameters that are active in both and differ.
func differences(p, q []int) (n int) {
	for i := range p {
		if p[i] >= 0 && q[i] >= 0 && p[i] != q[i] {
			n++
		}
	}
	return n
}

// sameActivity reports whether the same parameters are active.
func sameActivity(p, q []int) bool {
	for i := range p {
		if (p[i] < 0) != (q[i] < 0) {
			return false
		}
	}
	return true
}

// TestPairs compares the pairs with all points that differ in two parameters. Where activity changes as well, values of
// newly active parameters are a matter of choice, and may be missed.
func TestPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		p, err := s.FromOrdinals(rapid.SampledFrom(points).Draw(t, "point"))
		if err != nil {
			t.Fatal(err)
		}
		got := s.Neighbours(p, Pairs)
		for i, q := range got {
			if !slices.ContainsFunc(points, func(o []int) bool { return slices.Equal(o, q.ords) }) {
				t.Fatalf("%v is no point", q)
			}
			if differences(p.ords, q.ords) != 2 {
				t.Fatalf("%v changes %d values of %v", q, differences(p.ords, q.ords), p)
			}
			if i > 0 && comparePairs(p.ords, got[i-1].ords, q.ords) >= 0 {
				t.Fatalf("%v is out of order", q)
			}
		}
		for _, o := range points {
			if differences(p.ords, o) == 2 && sameActivity(p.ords, o) && !slices.ContainsFunc(got, func(q Point) bool { return slices.Equal(o, q.ords) }) {
				t.Fatalf("%v is missing among the pairs of %v", o, p)
			}
		}
	})
}

// TestNeighbour draws from every neighbourhood until all of it should have been seen.
func TestNeighbour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		p, err := s.FromOrdinals(rapid.SampledFrom(points).Draw(t, "point"))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for _, hood := range []Neighbourhood{Adjacent, AnyValue, Pairs} {
			wanted := 1
			if hood == Pairs {
				wanted = 2
			}
			for range 20 {
				q, ok := s.Neighbour(p, hood, r)
				if !ok {
					// A point that differs in so many parameters and in nothing else would have been found.
					for _, o := range points {
						if !s.partial && differences(p.ords, o) == wanted && sameActivity(p.ords, o) && (hood != Adjacent || closest(p.ords, o)) {
							t.Fatalf("no neighbour of %v, but %v is one", p, o)
						}
					}
					break
				}
				if !slices.ContainsFunc(points, func(o []int) bool { return slices.Equal(o, q.ords) }) {
					t.Fatalf("%v is no point", q)
				}
				if differences(p.ords, q.ords) != wanted || hood == Adjacent && !closest(p.ords, q.ords) {
					t.Fatalf("%v is no neighbour of %v", q, p)
				}
			}
		}
	})
}

// closest reports whether what differs does so by one.
func closest(p, q []int) bool {
	for i := range p {
		if p[i] >= 0 && q[i] >= 0 && abs(p[i]-q[i]) > 1 {
			return false
		}
	}
	return true
}

func TestNeighbourReachesAll(t *testing.T) {
	s, err := New("x", []Parameter{Range("a", 1, 40), Pow2("b", 1, 64), Ints("c", 5, 1, 9, 3), Range("d", 0, 1<<40)}, "a * b <= 64", "a % c == 0", "d <= a")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Make(map[string]any{"a": 9, "b": 4, "c": 3, "d": 2})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, hood := range []Neighbourhood{Adjacent, AnyValue, Pairs} {
		want := map[string]bool{}
		for _, q := range s.Neighbours(p, hood) {
			want[q.Key()] = true
		}
		seen := map[string]bool{}
		for range 200 * len(want) {
			q, ok := s.Neighbour(p, hood, r)
			if !ok {
				t.Fatal("there is a neighbour")
			}
			seen[q.Key()] = true
			delete(want, q.Key())
		}
		if len(want) > 0 {
			t.Errorf("%d: %d of %d neighbours were not drawn", hood, len(want), len(seen))
		}
	}
}

func BenchmarkNeighbours(b *testing.B) {
	params, constraints := gemm()
	s, err := New("gemm", params, constraints...)
	if err != nil {
		b.Fatal(err)
	}
	n, _ := s.Len()
	p := s.At(n / 3)
	r := rand.New(rand.NewPCG(1, 2))
	for _, hood := range []Neighbourhood{Adjacent, AnyValue, Pairs} {
		name := fmt.Sprintf("hood=%s", [...]string{"adjacent", "any-value", "pairs"}[hood])
		b.Run("op=all/"+name, func(b *testing.B) {
			count := 0
			for b.Loop() {
				count += len(s.Neighbours(p, hood))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count), "ns/neighbour")
		})
		b.Run("op=one/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Neighbour(p, hood, r)
			}
		})
	}
}
