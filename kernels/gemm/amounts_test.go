package gemm

import (
	"math/rand/v2"
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

// TestAmounts: each amount of a point has a form in C, and is not negative at any shape. The plain forms have none.
func TestAmounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shape := map[string]space.CName{"m": {Text: "m", Positive: true}, "n": {Text: "n", Positive: true}, "k": {Text: "k", Positive: true}}
	for _, layout := range []string{LayoutNN, LayoutNT} {
		for _, d := range []Dims{{67, 53, 41}, {300, 290, 1000}, {5, 210, 131}, {210, 5, 131}, {1, 1, 1}} {
			s := newTestSpec(t, nativetest.Machines()["avx512"], layout, d, 1)
			for range 8 {
				p, err := s.Space().Sample(r)
				if err != nil {
					t.Fatal(err)
				}
				amounts := s.Amounts(p)
				if form := p.Str("form"); (amounts == nil) != (form == FormNaive || form == FormBlocked) {
					t.Fatalf("%s: %d amounts", p, len(amounts))
				}
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
				for range 6 {
					for i, x := range amountsAt(t, amounts, 1+r.Int64N(400), 1+r.Int64N(400), 1+r.Int64N(400)) {
						if !(x >= 0) {
							t.Fatalf("%s: %v is %v", p, amounts[i], x)
						}
					}
				}
			}
		}
	}
}

// TestTileAmounts: the numbers of tiles and of their steps are those of the loops of the code.
func TestTileAmounts(t *testing.T) {
	s := newTestSpec(t, wide, LayoutNN, Dims{18, 47, 167}, 1)
	p, err := s.Space().Make(map[string]any{
		"form": "tiled", "isa": "avx512", "vec": 64, "mr": 13, "nv": 2, "ku": 2, "kc": 167, "mc": 8, "nc": 47, "order": "pij", "inner": "columns", "tail": "masked", "fixed": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range [][3]int{{18, 47, 167}, {1, 1, 1}, {13, 32, 168}, {40, 91, 400}, {12, 16, 169}} {
		m, n, k := d[0], d[1], d[2]
		var want [6]float64 // steps of tiles with 13 rows or one, by 2 vectors, one, and a part of one
		tiles, single := 0.0, 0.0
		for p := 0; p < k; p += 168 {
			for i := 0; i < m; i += 13 {
				for j := 0; j < n; j += 64 {
					depth := float64(min(168, k-p))
					for left := min(64, n-j); left > 0; {
						column, width := 2, left
						switch {
						case left >= 32:
							column, width = 0, 32
						case left >= 16:
							column, width = 1, 16
						}
						left -= width
						if rows := min(13, m-i); rows == 13 {
							want[column], tiles = want[column]+depth, tiles+1
						} else {
							want[3+column], tiles, single = want[3+column]+depth*float64(rows), tiles+float64(rows), single+float64(rows)
						}
					}
				}
			}
		}
		got := amountsAt(t, s.Amounts(p), int64(m), int64(n), int64(k))
		if got[2] != tiles || got[3] != single || [6]float64(got[4:10]) != want {
			t.Errorf("m=%d n=%d k=%d: %v tiles, %v of one row, steps %v; want %v, %v and %v", m, n, k, got[2], got[3], got[4:10], tiles, single, want)
		}
	}
}
