package native

import (
	"math"
	"math/rand/v2"
	"slices"

	"tune/kernels"
	"tune/space"
)

// Sampled is the reference of a product of matrices, m × n results that each add up k products. A small product has the reference of every
// result, a large one of some rows and columns; the family compares the others all together, by Freivalds's test.
type Sampled struct {
	Whole      bool // whether every result has its reference
	Rows, Cols map[int][]Wanted
	n          int
}

// Wanted is the reference of one result.
type Wanted struct {
	Value float64
	Size  float64 // what a tolerance is multiplied by
}

// SampledLines is how many rows, and columns, are drawn at the most, beside the last ones.
const SampledLines = 16

// SampledRows is how many rows are drawn where up to limit products may be computed: a row costs as much as all of the second matrix.
func SampledRows(limit, n, k int) int { return min(SampledLines, 1+limit/(n*k)) }

// Sample computes the references of all results where they are sums of up to limit products, otherwise of lines that rng draws. The function
// result is called for several at once.
func Sample(rng *rand.Rand, m, n, k, limit int, result func(i, j int) Wanted) *Sampled {
	s := &Sampled{Whole: m*n*k <= limit, Rows: map[int][]Wanted{}, Cols: map[int][]Wanted{}, n: n}
	var rows, cols []int
	for i := range m {
		if s.Whole || i == m-1 {
			rows = append(rows, i)
		}
	}
	if !s.Whole {
		cols = append(cols, n-1)
		for range SampledLines {
			cols = append(cols, rng.IntN(n))
		}
		for range SampledRows(limit, n, k) {
			rows = append(rows, rng.IntN(m))
		}
		slices.Sort(rows)
		slices.Sort(cols)
		rows, cols = slices.Compact(rows), slices.Compact(cols)
	}
	for _, i := range rows {
		s.Rows[i] = line(n, func(j int) Wanted { return result(i, j) })
	}
	for _, j := range cols {
		s.Cols[j] = line(m, func(i int) Wanted { return result(i, j) })
	}
	return s
}

func line(n int, result func(int) Wanted) []Wanted {
	out := make([]Wanted, n)
	InParts(n, func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = result(i)
		}
	})
	return out
}

// Compare compares results with those that have references. A result may be off by its size times the tolerance, and by least more. The
// rejection names the worst one.
func (s *Sampled) Compare(c []float32, tolerance, least float64) (kernels.Deviation, error) {
	var d kernels.Deviation
	wrong, compared := 0, 0
	worst, worstError := 0, math.Inf(-1)
	var worstWant Wanted
	compare := func(at int, want Wanted) {
		compared++
		got := float64(c[at])
		if got == want.Value || math.IsNaN(got) && math.IsNaN(want.Value) {
			return
		}
		off, room := math.Abs(got-want.Value), tolerance*want.Size+least
		if off <= room && !math.IsInf(want.Value, 0) {
			d.Add(off, room)
			return
		}
		wrong++
		e := off / room
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		if e > worstError || e == worstError && at < worst {
			worst, worstError, worstWant = at, e, want
		}
	}
	for i, row := range s.Rows {
		for j, want := range row {
			compare(i*s.n+j, want)
		}
	}
	for j, col := range s.Cols {
		for i, want := range col {
			compare(i*s.n+j, want)
		}
	}
	if wrong > 0 {
		return kernels.Deviation{}, kernels.Reject(space.WrongAnswer, "%d of %d compared elements are wrong; the worst is element (%d, %d): got %v, want %v ± %.2g",
			wrong, compared, worst/s.n, worst%s.n, c[worst], worstWant.Value, tolerance*worstWant.Size)
	}
	return d, nil
}
