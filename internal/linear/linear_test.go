package linear

import "testing"

func TestDot(t *testing.T) {
	a, b := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{2, 3, 5, 7, 11, 13, 17, 19, 23}
	want := 0.0
	for n := range len(a) + 1 {
		if got := Dot(a[:n], b); got != want {
			t.Errorf("of %d elements: %v, want %v", n, got, want)
		}
		if n < len(a) {
			want += a[n] * b[n]
		}
	}
}
