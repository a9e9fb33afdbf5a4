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

// compact returns rows whose outer products add up to the same as those of the given rows: a copy, or fewer rows. Factors are mostly smooth
// functions of the value, so that those of a thousand values are sums of some dozen rows. Where the given rows are L·B, with
// orthonormal rows B, the others are C·B, with the transposed Cholesky factor C of Lᵀ·L. The row of which most is left comes next in B.
func compact(rows []float64, width int) []float64 {
	n := len(rows) / width
	if n < leastRows {
		return slices.Clone(rows)
	}
	left, total := make([]float64, n), 0.0
	for i := range n {
		left[i] = linear.Dot(row(rows, int32(i), width), row(rows, int32(i), width))
		total += left[i]
	}
	var basis, with [][]float64 // with has the products of all rows with each of the basis
	for len(basis) < n {
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
			for _, c := range basis {
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
		basis, with = append(basis, b), append(with, products)
	}
	out := make([]float64, len(basis)*width)
	for i, factor := range cholesky(with) {
		for j, v := range factor {
			addScaled(row(out, int32(j), width), v, basis[i])
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
