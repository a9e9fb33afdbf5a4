package insight

import (
	"math"
	"slices"

	"tune/internal/linear"
)

// leastRows is how many rows there are at least that are replaced by fewer.
const leastRows = 16

// leastLeft is how much of the sum of their squares may be lost.
const leastLeft = 1e-12

// factors are what the passes need of the factors of all products for the values of a span. The factors of a value are a row. Rows are mostly
// smooth functions of the value, so that those of a thousand values are sums of some dozen vectors, with weights.
type factors struct {
	basis []float64   // the vectors, one after the other
	parts [][]float64 // of each part of the span, the weights of the vectors that make the sum of its rows
	// squares are rows whose outer products add up to the same as those of the rows of all values.
	squares []float64
}

// newFactors takes the rows of the values of a span. A span of few values has as its basis the sums of its parts, and so has one whose
// values depend on each other too little.
func newFactors(s span, rows []float64, width int) (f factors) {
	var vectors, with [][]float64
	if s.n < leastRows {
		f.squares = slices.Clone(rows)
	} else {
		vectors, with = basisOf(rows, width)
		f.squares = compact(vectors, with, width)
	}
	f.parts = make([][]float64, len(s.parts))
	if len(vectors) > 0 && len(vectors) < len(s.parts) {
		f.basis = slices.Concat(vectors...)
		for j, part := range s.parts {
			f.parts[j] = make([]float64, len(vectors))
			for i := part.lo - s.lo; i < part.lo-s.lo+part.n; i++ {
				for r := range vectors {
					f.parts[j][r] += with[r][i]
				}
			}
		}
		return f
	}
	f.basis = make([]float64, len(s.parts)*width)
	for j, part := range s.parts {
		f.parts[j] = make([]float64, len(s.parts))
		f.parts[j][j] = 1
		for i := part.lo - s.lo; i < part.lo-s.lo+part.n; i++ {
			addTo(row(f.basis, int32(j), width), row(rows, int32(i), width))
		}
	}
	return f
}

// part returns the sum of the rows of a part.
func (f *factors) part(j, width int) []float64 {
	out := make([]float64, width)
	for r, w := range f.parts[j] {
		if w != 0 {
			addScaled(out, w, row(f.basis, int32(r), width))
		}
	}
	return out
}

// basisOf returns orthonormal vectors, and of each its product with every row: the rows are the sums of the vectors with these weights. The row
// of which most is left gives the next vector.
func basisOf(rows []float64, width int) (vectors, with [][]float64) {
	n := len(rows) / width
	left, total := make([]float64, n), 0.0
	for i := range n {
		left[i] = linear.Dot(row(rows, int32(i), width), row(rows, int32(i), width))
		total += left[i]
	}
	for len(vectors) < n {
		sum, most := 0.0, 0
		for i, v := range left {
			if sum += max(v, 0); v > left[most] {
				most = i
			}
		}
		if sum <= leastLeft*total {
			break
		}
		b := slices.Clone(row(rows, int32(most), width))
		for range 2 { // the second time for the rounding errors of the first
			for _, c := range vectors {
				addScaled(b, -linear.Dot(b, c), c)
			}
		}
		norm := math.Sqrt(linear.Dot(b, b))
		products := make([]float64, n)
		for i := range b {
			b[i] /= norm
		}
		for i := range n {
			products[i] = linear.Dot(b, row(rows, int32(i), width))
			left[i] -= products[i] * products[i]
		}
		left[most] = 0
		vectors, with = append(vectors, b), append(with, products)
	}
	return vectors, with
}

// compact returns as few rows as there are vectors, whose outer products add up to the same as those of the rows that basisOf took. Where
// those are L·B, with the vectors B, the others are C·B, with the transposed Cholesky factor C of Lᵀ·L.
func compact(vectors, with [][]float64, width int) []float64 {
	out := make([]float64, len(vectors)*width)
	for i, factor := range cholesky(with) {
		for j, v := range factor {
			addScaled(row(out, int32(j), width), v, vectors[i])
		}
	}
	return out
}

// cholesky returns the rows of the lower triangle of the Cholesky factor of the Gram matrix of some vectors.
func cholesky(vectors [][]float64) (rows [][]float64) {
	for i, v := range vectors {
		r := make([]float64, i+1)
		for j := range i {
			r[j] = (linear.Dot(v, vectors[j]) - linear.Dot(r[:j], rows[j][:j])) / rows[j][j]
		}
		r[i] = math.Sqrt(max(linear.Dot(v, v)-linear.Dot(r[:i], r[:i]), 0))
		rows = append(rows, r)
	}
	return rows
}
