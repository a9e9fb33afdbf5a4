package gemm

import (
	"strings"
	"testing"

	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
)

// TestTails: linked code for AVX2 cuts its last columns into tails of two and three vectors where registers allow both, and leaves no row alone. Code of a
// search, and that for other instruction sets, does not.
func TestTails(t *testing.T) {
	of := func(isa string, linked bool, values map[string]any) string {
		t.Helper()
		s := newTestSpec(t, nativetest.Machines()["avx512"], LayoutNN, Dims{31, 83, 37}, 1)
		values["form"], values["isa"], values["vec"], values["tail"] = FormTiled, isa, vectorBytes(isa), TailMasked
		p, err := s.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		if !linked {
			src, err := s.Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			return src.Text
		}
		src, err := s.Linked().Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		return src.Text
	}
	const three, two, row = "tile_4x3_over(", "tile_6x2_over(", "m - i != 7"
	for _, test := range []struct {
		isa    string
		linked bool
		values map[string]any
		want   []string // of these three
	}{
		{cgen.AVX2, true, map[string]any{"mr": 6, "nv": 2}, []string{three, two, row}},
		{cgen.AVX2, true, map[string]any{"mr": 6, "nv": 2, "pack_x": true}, []string{two, row}},
		{cgen.AVX2, true, map[string]any{"mr": 14, "nv": 1}, []string{three, two, row}},
		{cgen.AVX2, true, map[string]any{"mr": 14, "nv": 1, "pack_x": true}, nil},
		{cgen.AVX2, false, map[string]any{"mr": 6, "nv": 2}, nil},
		{cgen.AVX512, true, map[string]any{"mr": 6, "nv": 2}, nil},
		{cgen.Generic, true, map[string]any{"mr": 6, "nv": 2}, nil},
	} {
		text := of(test.isa, test.linked, test.values)
		var got []string
		for _, part := range []string{three, two, row} {
			if strings.Contains(text, part) {
				got = append(got, part)
			}
		}
		if strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s, linked %t, %v: it has %q, want %q", test.isa, test.linked, test.values, got, test.want)
		}
	}
}
