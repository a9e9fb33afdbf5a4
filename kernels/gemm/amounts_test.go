package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tune/kernels/native/nativetest"
	"tune/space"
)

// amountsAt computes the amounts of a point at a shape.
func amountsAt(t *testing.T, amounts [][]string, m, n, k int64) (out []float64) {
	t.Helper()
	of := map[string]space.Value{"m": space.IntValue(m), "n": space.IntValue(n), "k": space.IntValue(k)}
	for _, factors := range amounts {
		product := 1.0
		for _, text := range factors {
			f, err := space.ParseFormula("0 + " + text)
			if err != nil {
				t.Fatal(err)
			}
			v, err := f.Value(of)
			if err != nil {
				t.Fatal(err)
			}
			x, _ := v.Number()
			product *= x
		}
		out = append(out, product)
	}
	return out
}

// TestAmounts: on each kind of machine, each amount of a point has a form in C, and is not negative at any shape. The plain forms have none.
func TestAmounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shape := map[string]space.CName{"m": {Text: "m", Positive: true}, "n": {Text: "n", Positive: true}, "k": {Text: "k", Positive: true}}
	for name, machine := range nativetest.Machines() {
		for _, layout := range []string{LayoutNN, LayoutNT} {
			for _, d := range []Dims{{67, 53, 41}, {300, 290, 1000}, {5, 210, 131}, {210, 5, 131}, {1, 1, 1}} {
				s := newTestSpec(t, machine, layout, d, 1)
				for range 4 {
					p, err := s.Space().Sample(r)
					if err != nil {
						t.Fatal(err)
					}
					amounts := s.Amounts(p)
					if form := p.Str("form"); (amounts == nil) != (form == FormNaive || form == FormBlocked) {
						t.Fatalf("%s: %s: %d amounts", name, p, len(amounts))
					}
					haveForms(t, shape, amounts)
					for range 3 {
						for i, x := range amountsAt(t, amounts, 1+r.Int64N(400), 1+r.Int64N(400), 1+r.Int64N(400)) {
							if !(x >= 0) {
								t.Fatalf("%s: %s: %v is %v", name, p, amounts[i], x)
							}
						}
					}
				}
			}
		}
	}
}

// haveForms checks that each factor has a form in C.
func haveForms(t *testing.T, shape map[string]space.CName, amounts [][]string) {
	t.Helper()
	for _, factors := range amounts {
		for _, text := range factors {
			f, err := space.ParseFormula(text)
			if err == nil {
				_, err = f.C(shape, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// cut cuts a dimension as the code does: into full strips, and then, of those that are given in falling order, each that fits.
func cut(n, full int, less ...int) (out []int) {
	for ; n >= full; n -= full {
		out = append(out, full)
	}
	for _, size := range less {
		if n >= size {
			out, n = append(out, size), n-size
		}
	}
	return out
}

// TestTileAmounts: the numbers of tiles and of their steps are those of the loops of the code.
func TestTileAmounts(t *testing.T) {
	for _, test := range []struct {
		values  map[string]any
		heights []int
		widths  []int // in vectors; what is left of a vector is masked
		any     bool  // the last tile of any width has a mask
	}{
		{map[string]any{"isa": "avx512", "vec": 64, "mr": 13, "nv": 2, "fixed": true}, []int{8, 4, 2, 1}, nil, true},
		{map[string]any{"isa": "avx512", "vec": 64, "mr": 13, "nv": 2}, []int{8, 5, 4, 2, 1}, nil, true},
		{map[string]any{"isa": "avx2", "vec": 32, "mr": 2, "nv": 4, "fixed": true}, []int{1}, nil, true},
		{map[string]any{"isa": "avx2", "vec": 32, "mr": 3, "nv": 3}, []int{2, 1}, nil, true},
		{map[string]any{"isa": "generic", "vec": 16, "mr": 2, "nv": 4, "fixed": true}, []int{1}, []int{2, 1}, false},
	} {
		s := newTestSpec(t, wide, LayoutNN, Dims{18, 47, 167}, 1)
		test.values["form"], test.values["tail"], test.values["ku"], test.values["kc"], test.values["mc"], test.values["nc"] = FormTiled, TailMasked, 2, 167, 18, 47
		p, err := s.Space().Make(test.values)
		if err != nil {
			t.Fatal(err)
		}
		w := newTiledWriter(nil, configOf(p, LayoutNN), false, s.dims, true)
		mr, nv, lanes := w.c.MR, w.c.NV, w.lanes()
		for _, d := range [][3]int{{18, 47, 167}, {9, 17, 5}, {13, 32, 168}, {40, 91, 400}, {12, 31, 169}, {11, 40, 7}, {26, 33, 167}, {24, 57, 166}} {
			m, n, k := d[0], d[1], d[2]
			apart := 0 // columns that are dot products
			if n%lanes == 1 && (lanes == 16 && m > 20 || lanes == 8 && m > 24) {
				apart, n = 1, n-1
			}
			want := make([]float64, 9) // tiles, those of fewer rows, and the steps
			for p := 0; p < k; p += w.kc {
				for i := 0; i < m; i += w.mc {
					for j := 0; j < n; j += w.nc {
						columns, depth := min(w.nc, n-j), float64(min(w.kc, k-p))
						widths := cut(columns/lanes, nv, test.widths...)
						switch rest := columns % (nv * lanes); {
						case test.any && rest > 0:
							widths = append(widths, -(rest+lanes-1)/lanes)
						case rest%lanes > 0:
							widths = append(widths, -1)
						}
						for _, rows := range cut(min(w.mc, m-i), mr, test.heights...) {
							for _, width := range widths {
								want[0]++
								tall := 2
								if rows < mr {
									want[1], want[8], tall = want[1]+1, want[8]+depth, 5
								}
								height := map[bool]float64{true: 1, false: float64(rows)}[rows == mr]
								if width == nv {
									want[tall] += depth * height
								} else {
									want[tall+1] += depth * height * float64(max(width, -width))
									want[tall+2] += depth * height
								}
							}
						}
					}
				}
			}
			got := amountsAt(t, s.Amounts(p), int64(m), int64(n+apart), int64(k))
			if want = append(want, float64(k*m*apart), float64(m*apart)); !slices.Equal(slices.Concat(got[2:11], got[14:16]), want) && lanes > 4 ||
				!slices.Equal(got[2:11], want[:9]) {
				t.Errorf("%v m=%d n=%d k=%d: %v, want %v", test.values, m, n+apart, k, got, want)
			}
		}
	}
}
