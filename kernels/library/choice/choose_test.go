package choice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// random returns a matrix with the given share of missing costs. Few different costs make ties.
func random(r *rand.Rand, shapes, variants int, missing float64, ties bool) Matrix {
	m := Matrix{Fields: []string{"m", "n"}}
	for j := range variants {
		m.Variants = append(m.Variants, Variant{Name: fmt.Sprint("v", j)})
	}
	for range shapes {
		row := make([]float64, variants)
		for j := range row {
			row[j] = math.Exp(r.NormFloat64() * 0.3)
			if ties {
				row[j] = 1 + float64(r.IntN(4))
			}
			if r.Float64() < missing {
				row[j] = Missing
			}
		}
		if math.IsInf(slices.Min(row), 1) {
			row[r.IntN(variants)] = 1
		}
		m.Costs = append(m.Costs, row)
		m.Shapes = append(m.Shapes, Shape{Fields: []int64{1 + r.Int64N(4096), 1 + r.Int64N(4096)}, Weight: 0.1 + r.Float64()})
	}
	return m
}

// brute returns the least mean regret of all sets of at most k variants that hold the given ones, and the weight that a best set
// leaves out where all leave something out.
func brute(m Matrix, k int, must []int) (mean, leftOut float64) {
	mean, leftOut = math.Inf(1), math.Inf(1)
	for bits := 1; bits < 1<<len(m.Variants); bits++ {
		var set []int
		for j := range m.Variants {
			if bits>>j&1 == 1 {
				set = append(set, j)
			}
		}
		if len(set) > k || slices.ContainsFunc(must, func(j int) bool { return !slices.Contains(set, j) }) {
			continue
		}
		mean, leftOut = min(mean, m.Regrets(m.Use(set)).Mean), min(leftOut, weightLeftOut(m, m.Use(set)))
	}
	return mean, leftOut
}

func weightLeftOut(m Matrix, use []int) float64 {
	w := 0.0
	for i, j := range use {
		if j < 0 {
			w += m.Shapes[i].Weight
		}
	}
	return w
}

func same(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-8*max(math.Abs(a), math.Abs(b))+1e-12
}

// TestChooseIsExact: on small instances the choice is that of trying all sets, its bound is its value, and fewer nodes give a bound
// that is not higher than the optimum.
func TestChooseIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 600 {
		missing := []float64{0, 0, 0.3, 0.7}[trial%4]
		m := random(r, 1+r.IntN(14), 1+r.IntN(9), missing, trial%3 == 0)
		if trial%5 == 0 {
			for i := range m.Shapes {
				m.Shapes[i].Weight = math.Pow(10, 4*r.Float64())
			}
		}
		k := 1 + r.IntN(len(m.Variants)+2)
		must := r.Perm(len(m.Variants))[:r.IntN(min(k, len(m.Variants))+1)]
		if trial%2 == 0 {
			must = nil
		}
		c, err := Choose(m, k, Search{Must: must})
		if err != nil {
			t.Fatal(err)
		}
		want, leftOut := brute(m, k, must)
		if !same(c.Mean, want) || !c.Optimal || c.Bound != c.Mean {
			t.Fatalf("trial %d: %d of %d variants: mean %v bound %v optimal %v, want %v", trial, k, len(m.Variants), c.Mean, c.Bound, c.Optimal, want)
		}
		if got := weightLeftOut(m, c.Use); !same(got, leftOut) {
			t.Fatalf("trial %d: the weight %v is left out, want %v", trial, got, leftOut)
		}
		if len(c.Variants) > k || !slices.IsSorted(c.Variants) || slices.ContainsFunc(must, func(j int) bool { return !slices.Contains(c.Variants, j) }) {
			t.Fatalf("trial %d: at most %d variants with %v: got %v", trial, k, must, c.Variants)
		}
		if !slices.Equal(c.Use, m.Use(c.Variants)) || m.Regrets(c.Use) != c.Regrets {
			t.Fatalf("trial %d: the choice does not describe its set", trial)
		}
		one, err := Choose(m, k, Search{Must: must, Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !(one.Bound <= want || same(one.Bound, want)) || !(one.Mean >= want || same(one.Mean, want)) || one.Nodes > 1 {
			t.Fatalf("trial %d: with one node the mean is %v and the bound %v, around %v", trial, one.Mean, one.Bound, want)
		}
	}
}

// TestFewestIsExact: no smaller set reaches what is tolerated, and none of that size is better.
func TestFewestIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 200 {
		m := random(r, 1+r.IntN(12), 1+r.IntN(8), []float64{0, 0.4}[trial%2], trial%3 == 0)
		tolerated := []float64{0, 0.01, 0.05, 0.3}[r.IntN(4)]
		var must []int
		if trial%4 == 0 {
			must = []int{len(m.Variants) - 1}
		}
		c, err := Fewest(m, tolerated, Search{Must: must})
		if err != nil {
			t.Fatal(err)
		}
		k := max(1, len(must))
		want, _ := brute(m, k, must)
		for want > tolerated {
			k++
			want, _ = brute(m, k, must)
		}
		if len(c.Variants) > k || !same(c.Mean, want) || c.Mean > tolerated || !c.Optimal {
			t.Fatalf("trial %d: tolerated %v: %d variants with %v, optimal %v; want %d with %v", trial, tolerated, len(c.Variants), c.Mean, c.Optimal, k, want)
		}
	}
}

// planted returns a matrix of shapes of three fields and variants that are each good around one place, as tuned kernels are.
func planted(r *rand.Rand, shapes, variants int, noise float64) Matrix {
	m := Matrix{Fields: []string{"m", "n", "k"}}
	at := func() []int64 {
		return []int64{1 << r.IntN(13), 1 << r.IntN(13), 1 << r.IntN(13)}
	}
	for range shapes {
		m.Shapes = append(m.Shapes, Shape{Fields: at(), Weight: 0.5 + r.Float64()})
	}
	for j := range variants {
		m.Variants = append(m.Variants, Variant{Name: fmt.Sprint("v", j), Tuned: m.Shapes[j*shapes/variants].Fields})
	}
	for _, s := range m.Shapes {
		row := make([]float64, variants)
		for j, v := range m.Variants {
			row[j] = 1e-3 * math.Exp(0.03*math.Pow(logDistance(s.Fields, v.Tuned), 1.5)+noise*r.NormFloat64())
		}
		m.Costs = append(m.Costs, row)
	}
	return m
}

// TestChooseIsFast: at the size of a large library, the default limit of nodes ends the search soon, with a proof or a bound near
// the value. The nodes and the memory are tested, and the time is left to BenchmarkChoose, because others may use the processor.
func TestChooseIsFast(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for trial, m := range []Matrix{planted(r, 200, 60, 0.02), planted(r, 200, 60, 0.1), random(r, 200, 60, 0, false), random(r, 200, 60, 0.3, true)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Choose(m, 12, Search{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 32 || c.Nodes > DefaultNodes {
			t.Errorf("matrix %d: %d MiB were allocated for %d nodes", trial, mib, c.Nodes)
		}
		t.Logf("matrix %d: mean %.5f bound %.5f optimal %v after %d nodes", trial, c.Mean, c.Bound, c.Optimal, c.Nodes)
		if gap := c.Mean - c.Bound; gap > 0.15*c.Mean || trial < 2 && !c.Optimal {
			t.Errorf("matrix %d: mean %v, bound %v", trial, c.Mean, c.Bound)
		}
	}
}

func BenchmarkFit(b *testing.B) {
	m := planted(rand.New(rand.NewPCG(5, 6)), 200, 60, 0.05)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Fit(m, 12, Search{}, Growth{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for name, m := range map[string]Matrix{
		"planted": planted(rand.New(rand.NewPCG(5, 6)), 200, 60, 0.05),
		"noise":   random(rand.New(rand.NewPCG(5, 6)), 200, 60, 0, false),
		"ties":    random(rand.New(rand.NewPCG(5, 6)), 200, 60, 0, true),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Choose(m, 12, Search{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
