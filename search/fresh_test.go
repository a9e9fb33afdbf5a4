package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tune/space"
)

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// checkBijection walks all of a permutation.
func checkBijection(t interface{ Fatalf(string, ...any) }, n, seed uint64) {
	p := newPermutation(n, rng(seed))
	seen := make([]bool, n)
	for i := range n {
		j := p.at(i)
		if j >= n || seen[j] {
			t.Fatalf("the permutation of %d maps %d to %d, which is taken or outside", n, i, j)
		}
		seen[j] = true
	}
}

func TestPermutation(t *testing.T) {
	for n := uint64(1); n <= 200; n++ {
		for seed := range uint64(5) {
			checkBijection(t, n, seed)
		}
	}
	for k := 8; k <= 17; k++ {
		for _, n := range []uint64{1<<k - 1, 1 << k, 1<<k + 1} {
			checkBijection(t, n, uint64(k))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		checkBijection(t, rapid.Uint64Range(1, 3*longestList).Draw(t, "n"), rapid.Uint64().Draw(t, "seed"))
	})
}

// The largest permutations stay within their range, and do not repeat in their first steps.
func TestPermutationWide(t *testing.T) {
	for _, n := range []uint64{1 << 32, 1<<32 + 1, 1e12, 1<<62 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1} {
		p, seen := newPermutation(n, rng(n)), map[uint64]bool{}
		for i := range uint64(10000) {
			for _, at := range []uint64{i, n - 1 - i} {
				j := p.at(at)
				if j >= n || seen[j] {
					t.Fatalf("the permutation of %d maps %d to %d, which is taken or outside", n, at, j)
				}
				seen[j] = true
			}
		}
	}
}

// chiSquare returns the statistic of counts against equal odds.
func chiSquare(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	expected, sum := float64(total)/float64(len(counts)), 0.0
	for _, c := range counts {
		d := float64(c) - expected
		sum += d * d / expected
	}
	return sum
}

func line(t *testing.T, n int) *space.Space {
	t.Helper()
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, n-1)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Over many seeds every point is equally likely to come first, second and last. The bounds are the 99.99th
// percentiles of the distribution of chi square, so that a uniform source with other seeds would pass too.
func TestDrawIsUniform(t *testing.T) {
	for _, c := range []struct {
		n     int
		bound float64
	}{{2, 15.14}, {3, 18.42}, {4, 21.11}, {5, 23.51}, {7, 27.86}, {16, 44.26}, {17, 46.02}, {64, 113.6}} {
		sp := line(t, c.n)
		first, second, last := make([]int, c.n), make([]int, c.n), make([]int, c.n)
		for seed := range uint64(400 * c.n) {
			f := NewFresh(sp, rng(seed))
			for i := range c.n {
				p, _ := f.Draw()
				if i == 0 {
					first[p.Int("x")]++
				}
				if i == 1 {
					second[p.Int("x")]++
				}
				if i == c.n-1 {
					last[p.Int("x")]++
				}
			}
		}
		for which, counts := range map[string][]int{"first": first, "second": second, "last": last} {
			if x := chiSquare(counts); x > c.bound {
				t.Errorf("of %d points, the %s drawn has chi square %.1f, above %.1f: %v", c.n, which, x, c.bound, counts)
			}
		}
	}
}

// Where the order comes from a network, every number is equally likely at each place, and after each other.
func TestPermutationIsUniform(t *testing.T) {
	const n = longestList + 1
	var first, second, last, apart [n]int
	for seed := range uint64(20 * n) {
		p := newPermutation(n, rng(seed))
		a, b := p.at(0), p.at(1)
		first[a]++
		second[b]++
		last[p.at(n-1)]++
		apart[(b+n-a)%n]++
	}
	// The 99.99th percentile at 4,096 degrees of freedom; the distance, which is never 0, has one less.
	const bound = 4443
	for name, counts := range map[string][]int{"first": first[:], "second": second[:], "last": last[:], "distance": apart[1:]} {
		if x := chiSquare(counts); x > bound {
			t.Errorf("the %s has chi square %.0f, above %d", name, x, bound)
		}
	}
}

// fewSpaces have few points; those of the second have no numbers, because its product is too wide.
func fewSpaces(t *testing.T) map[string]*space.Space {
	t.Helper()
	out := map[string]*space.Space{"numbered": line(t, 60)}
	wide := []space.Parameter{space.Range("x", 0, 1999), space.Range("y", 0, 1999)}
	s, err := space.New("scattered", wide, "(x * 7919 + y * 104729) % 32749 == 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Len(); ok {
		t.Fatal("the points are numbered")
	}
	out["scattered"] = s
	return out
}

func TestDrawExhausts(t *testing.T) {
	for name, sp := range fewSpaces(t) {
		t.Run(name, func(t *testing.T) {
			want := map[string]bool{}
			for p := range sp.All() {
				want[p.Key()] = true
			}
			f := NewFresh(sp, rng(1))
			// What is marked is not drawn.
			marked := 0
			for p := range sp.All() {
				if marked++; marked > 5 {
					break
				}
				if !f.Mark(p) || f.Mark(p) {
					t.Fatalf("%s is not new the first time, or is the second time", p)
				}
				delete(want, p.Key())
			}
			for len(want) > 0 {
				p, ok := f.Draw()
				if !ok || !want[p.Key()] {
					t.Fatalf("with %d points left it draws %q, %t", len(want), p, ok)
				}
				if f.Mark(p) {
					t.Fatalf("%s was drawn, and marking it finds it new", p)
				}
				delete(want, p.Key())
			}
			for range 3 {
				if p, ok := f.Draw(); ok {
					t.Fatalf("after the last it draws %q", p)
				}
			}
		})
	}
}

// TestLater: what is kept back comes last, whether points are numbered or not, and cannot be marked before.
func TestLater(t *testing.T) {
	even := func(p space.Point) bool { return p.Ordinal(0)%2 == 0 }
	for _, params := range [][]space.Parameter{
		{space.Range("x", 0, 99)},
		{space.Range("x", 0, 1499), space.Range("y", 0, 1499)},
	} {
		var constraints []string
		if len(params) > 1 {
			constraints = []string{"(31*x*x + 17*y) % 9973 == 5"}
		}
		s, err := space.New("later", params, constraints...)
		if err != nil {
			t.Fatal(err)
		}
		f := NewFresh(s, rng(1))
		f.Later = even
		all, early := 0, 0
		for p := range s.All() {
			if all++; !even(p) {
				early++
			} else if f.Mark(p) {
				t.Fatalf("%v is marked", p)
			}
		}
		for i := range all {
			if p, ok := f.Draw(); !ok || even(p) != (i >= early) {
				t.Fatalf("draw %d of %d, of which %d are not kept back, is %v, %v", i, all, early, p, ok)
			}
		}
		if p, ok := f.Draw(); ok {
			t.Errorf("after all points comes %v", p)
		}
	}
}

// A point of another space is never new.
func TestMarkForeign(t *testing.T) {
	f := NewFresh(line(t, 10), rng(1))
	if f.Mark(line(t, 11).At(3)) {
		t.Error("a point of another space counts as new")
	}
}

// InOrder is All, one at a time.
func TestInOrder(t *testing.T) {
	for name, sp := range fewSpaces(t) {
		next := InOrder(sp)
		n := 0
		for want := range sp.All() {
			got, ok := next()
			if !ok || !got.Equal(want) {
				t.Fatalf("%s: point %d is %q, %t, not %q", name, n, got, ok, want)
			}
			n++
		}
		if got, ok := next(); ok {
			t.Errorf("%s: %q comes after the last", name, got)
		}
		if got, ok := next(); ok {
			t.Errorf("%s: %q comes after the end", name, got)
		}
		if name == "scattered" && n <= leastAhead {
			t.Errorf("%d points do not need to be read in more than one stretch", n)
		}
	}
}

func TestTake(t *testing.T) {
	for _, c := range []struct{ n, evaluations, points, want int }{
		{5, 0, 10, 5}, {5, 3, 10, 3}, {5, 7, 10, 5}, {5, 0, 2, 2}, {5, 3, 2, 2}, {5, 0, 0, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			all, drawn := slices.Collect(line(t, 10).All()), 0
			out := Take(c.n, space.Progress{Evaluations: c.evaluations}, func() (space.Point, bool) {
				if drawn == c.points {
					return space.Point{}, false
				}
				drawn++
				return all[drawn-1], true
			})
			if len(out) != c.want || drawn != c.want {
				t.Errorf("%d proposals and %d draws, not %d", len(out), drawn, c.want)
			}
			for i, p := range out {
				if !p.Point.Equal(all[i]) || p.Fidelity != 0 {
					t.Errorf("proposal %d is %+v", i, p)
				}
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	s, err := space.New("line", []space.Parameter{space.Range("x", 0, 1<<40)})
	if err != nil {
		b.Fatal(err)
	}
	f := NewFresh(s, rng(1))
	b.ReportAllocs()
	for b.Loop() {
		f.Draw()
	}
}
