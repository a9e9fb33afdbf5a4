package gemm

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares the C of some points with files, which people review.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		name, layout string
		d            Dims
		threads      int
		values       map[string]any
	}{
		{"naive", LayoutNN, Dims{64, 64, 64}, 1, map[string]any{"form": "naive", "loops": "ikj", "isa": "native", "opt": "O3"}},
		{"blocked", LayoutNT, Dims{64, 64, 64}, 1, map[string]any{"form": "blocked", "loops": "ijk", "block": 32}},
		{"tiled", LayoutNN, Dims{64, 20, 64}, 1, map[string]any{"form": "tiled", "isa": "avx512", "mr": 2, "nv": 1, "ku": 2, "kc": 32, "pack_x": true, "tail": "masked"}},
		{"threads", LayoutNT, Dims{4, 64, 64}, 2, map[string]any{"form": "skinny", "isa": "avx2", "vec": 32, "mr": 2, "nr": 2, "workers": 2, "chunk": 4, "dynamic": true}},
		{"linked", LayoutNN, Dims{64, 20, 64}, 1, map[string]any{"form": "tiled", "isa": "avx512", "mr": 3, "nv": 2, "ku": 1, "tail": "masked"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s native.Spec = newTestSpec(t, wide, test.layout, test.d, test.threads)
			if test.name == "linked" {
				s = s.(*Spec).Linked()
			}
			nativetest.GoldenText(t, filepath.Join("testdata", test.name+".c"), *update, s, test.values)
		})
	}
}

// TestText: the code of presets, of the plain forms and of random points has not changed.
func TestText(t *testing.T) {
	var plain []map[string]any
	for _, form := range []string{FormNaive, FormBlocked} {
		for _, loops := range []string{"ijk", "ikj", "jik", "jki", "kij", "kji"} {
			plain = append(plain, map[string]any{"form": form, "loops": loops})
		}
	}
	machines := nativetest.Machines()
	var specs []nativetest.Generated
	for _, name := range []string{"arm64", "generic", "avx2", "avx512"} {
		for _, layout := range []string{LayoutNN, LayoutNT} {
			for i, d := range []Dims{{67, 53, 41}, {300, 290, 1000}, {5, 210, 131}, {210, 5, 131}, {1, 1, 1}} {
				threads := 3 - 2*(i%2)
				g := nativetest.Generated{
					Name: fmt.Sprintf("%s %s m=%d,n=%d,k=%d,threads=%d", name, layout, d.M, d.N, d.K, threads),
					Spec: newTestSpec(t, machines[name], layout, d, threads),
					By:   "form",
				}
				if i == 1 && name == "generic" {
					g.Points = plain
				}
				specs = append(specs, g)
			}
		}
	}
	for _, name := range []string{"avx2", "avx512"} {
		linked := newTestSpec(t, machines[name], LayoutNN, Dims{67, 53, 41}, 1).Linked().(*Spec)
		specs = append(specs, nativetest.Generated{Name: name + " for programs", Spec: native.Linked(linked, linked.Finish), By: "form"})
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}
