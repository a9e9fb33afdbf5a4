package native

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tune/kernels"
)

// TestSampled: all results of a small product have references, some lines of a large one do, and each compared result has to be within its
// tolerance.
func TestSampled(t *testing.T) {
	const m, n, k = 40, 50, 8
	value := func(i, j int) float64 { return float64(i*n + j + 1) }
	result := func(i, j int) Wanted { return Wanted{value(i, j), 2} }
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			c[i*n+j] = float32(value(i, j))
		}
	}
	for _, limit := range []int{m * n * k, n * k} {
		s := Sample(rand.New(rand.NewPCG(1, 1)), m, n, k, limit, result)
		rows := m
		if limit < m*n*k {
			rows = 1 + SampledRows(limit, n, k)
		}
		if s.Whole != (rows == m) || len(s.Rows) != rows || s.Whole == (len(s.Cols) > 0) || len(s.Cols) > SampledLines+1 {
			t.Errorf("limit %d: whole is %v, with %d rows and %d columns", limit, s.Whole, len(s.Rows), len(s.Cols))
		}
		at := m*n - 1 // is always among them
		for _, test := range []struct {
			off   float32
			share float64 // of the tolerance; 0 for what is wrong
		}{{0.5, 0.5}, {-1, 1}, {1.5, 0}, {float32(math.NaN()), 0}, {float32(math.Inf(1)), 0}} {
			right := c[at]
			c[at] += test.off
			d, err := s.Compare(c, 0.5, 0)
			c[at] = right
			switch {
			case test.share > 0 && (err != nil || d.ErrorShare != test.share):
				t.Errorf("off by %v: %+v, %v", test.off, d, err)
			case test.share == 0 && (kernels.AsRejection(err) == nil || !strings.Contains(err.Error(), "the worst is element (39, 49)")):
				t.Errorf("off by %v: %v", test.off, err)
			}
		}
		if s.Whole {
			continue
		}
		free := 0
		for s.Rows[free] != nil {
			free++
		}
		j := 0
		for s.Cols[j] != nil {
			j++
		}
		c[free*n+j]++
		if _, err := s.Compare(c, 0.5, 0); err != nil {
			t.Errorf("a result without a reference is compared: %v", err)
		}
		c[free*n+j]--
	}
	odd := Sample(rand.New(rand.NewPCG(1, 1)), 1, 2, 1, 2, func(_, j int) Wanted { return Wanted{[]float64{math.NaN(), math.Inf(1)}[j], 1} })
	for _, test := range []struct {
		c     []float32
		right bool
	}{
		{[]float32{float32(math.NaN()), float32(math.Inf(1))}, true},
		{[]float32{0, float32(math.Inf(1))}, false},
		{[]float32{float32(math.NaN()), 3}, false},
	} {
		if _, err := odd.Compare(test.c, 1, 0); (err == nil) != test.right {
			t.Errorf("%v: %v", test.c, err)
		}
	}
}
