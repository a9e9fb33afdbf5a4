package insight

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The basis of a span gives the sums of its parts, and its squares the outer products of the rows of all values, however smooth the rows are.
func TestFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const width = 7
		n := rapid.IntRange(1, 80).Draw(t, "values")
		smooth := rapid.Bool().Draw(t, "smooth")
		var rows []float64
		for i := range n {
			for c := range width {
				v := rapid.Float64Range(-1, 1).Draw(t, "factor")
				if smooth {
					v = math.Exp(-math.Pow(float64(i)/float64(n)-float64(c)/width, 2))
				}
				rows = append(rows, v)
			}
		}
		s := span{lo: 3, n: n}
		for lo := 0; lo < n; {
			size := min(rapid.IntRange(1, 5).Draw(t, "part"), n-lo)
			s.parts = append(s.parts, part{bin: int32(len(s.parts)), lo: s.lo + lo, n: size})
			lo += size
		}
		f := newFactors(s, rows, width)
		if most := width; n >= leastRows && (len(f.squares) > most*width || len(f.basis) > max(most, len(s.parts))*width) {
			t.Errorf("%d vectors and %d rows stand for %d rows of %d numbers", len(f.basis)/width, len(f.squares)/width, n, width)
		}
		scale := 1e-5 * math.Sqrt(float64(n))
		for j, p := range s.parts {
			want := make([]float64, width)
			for o := p.lo; o < p.lo+p.n; o++ {
				addTo(want, row(rows, int32(o-s.lo), width))
			}
			for c, got := range f.part(j, width) {
				if math.Abs(got-want[c]) > scale {
					t.Errorf("column %d of part %d: %v, want %v", c, j, got, want[c])
				}
			}
		}
		got, want := make([]float64, width*width), make([]float64, width*width)
		addOuter(got, f.squares, width, 0, width, 0, width)
		for i := range n {
			of := row(rows, int32(i), width)
			for c, v := range of {
				addScaled(want[c*width:(c+1)*width], v, of)
			}
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > scale*math.Sqrt(float64(n)) {
				t.Errorf("product %d: %v, want %v", i, got[i], want[i])
			}
		}
	})
}
