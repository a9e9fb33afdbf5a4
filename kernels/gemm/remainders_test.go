package gemm

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
)

// remainderText is a program that computes products of all small numbers of rows and columns, and compares each with three loops.
const remainderText = `
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tune_kernel(void *const *args, const int64_t *dims);

static float a[1 << 14], b[1 << 14], c[1 << 14];

int main(int argc, char **argv) {
	const int64_t rows = atoi(argv[1]), columns = atoi(argv[2]), depths[] = {1, 7, 18, 70};
	for (int i = 0; i < 1 << 14; i++) {
		a[i] = (i * 37 % 2001 - 1000) / 1000.f;
		b[i] = (i * 53 % 2003 - 1000) / 1000.f;
	}
	for (int64_t m = 1; m <= rows; m++)
		for (int64_t n = 1; n <= columns; n++) {
			const int64_t k = depths[(m + n) % 4];
			const int64_t dims[] = {m, n, k, k, n, n};
			memset(c, 0xff, sizeof c);
			tune_kernel((void *[]){a, b, c}, dims);
			for (int64_t i = 0; i < m; i++)
				for (int64_t j = 0; j < n; j++) {
					float want = 0;
					for (int64_t p = 0; p < k; p++) want += a[i * k + p] * b[p * n + j];
					if (!(fabsf(c[i * n + j] - want) < 1e-4)) {
						printf("m=%d n=%d k=%d: C[%d,%d] is %g, want %g\\n", (int)m, (int)n, (int)k, (int)i, (int)j, c[i * n + j], want);
						return 1;
					}
				}
			for (int64_t i = m * n; i < m * n + 64; i++)
				if (c[i] == c[i]) { // it was not a number
					printf("m=%d n=%d k=%d: element %d beyond C was written\\n", (int)m, (int)n, (int)k, (int)(i - m * n));
					return 1;
				}
		}
	return 0;
}
`

// TestRemainders: results of linked code are right with every number of rows and columns that fill no tile. The asked shapes have remainders too.
func TestRemainders(t *testing.T) {
	m := host(t)
	isas := isasOf(m)
	best := isas[len(isas)-1]
	square, wide, tall := Dims{31, 83, 37}, Dims{5, 83, 37}, Dims{83, 7, 37}
	for _, test := range []struct { // with tiles for sixteen registers
		d      Dims
		isa    string
		values map[string]any
	}{
		{square, best, map[string]any{"mr": 4, "nv": 3, "tail": TailMasked}},
		{square, best, map[string]any{"mr": 2, "nv": 5, "tail": TailMasked, "inner": "rows", "pack_y": true, "fixed": true}},
		{square, best, map[string]any{"mr": 14, "nv": 1, "tail": TailScalar, "pack_x": true, "fixed": true}},
		{square, best, map[string]any{"mr": 2, "nv": 4, "tail": TailScalar, "inner": "rows", "pack_y": true}},
		{square, cgen.AVX2, map[string]any{"mr": 6, "nv": 2, "tail": TailMasked}}, // tails of two and three vectors
		{square, cgen.AVX2, map[string]any{"mr": 4, "nv": 3, "tail": TailScalar, "inner": "rows", "pack_y": true}},
		{square, cgen.AVX2, map[string]any{"mr": 6, "nv": 2, "tail": TailMasked, "pack_x": true, "pack_y": true, "next_y": true}}, // of two alone
		{square, cgen.AVX2, map[string]any{"mr": 4, "nv": 3, "tail": TailMasked, "pack_x": true, "next_y": true, "prefetch_c": true}},
		{square, cgen.AVX2, map[string]any{"mr": 2, "nv": 5, "tail": TailScalar, "next_y": true}},
		{square, cgen.AVX2, map[string]any{"mr": 5, "nv": 1, "tail": TailMasked, "pack_x": true}},
		{square, cgen.AVX2, map[string]any{"mr": 14, "nv": 1, "tail": TailMasked, "pack_x": true}}, // none
		{square, cgen.Generic, map[string]any{"mr": 9, "nv": 1, "tail": TailMasked, "inner": "rows", "pack_x": true, "pack_y": true}},
		{square, cgen.Generic, map[string]any{"mr": 2, "nv": 4, "tail": TailMasked, "pack_y": true, "fixed": true}},
		{wide, best, map[string]any{"form": FormSkinny, "mr": 3, "ku": 4, "tail": TailMasked}},
		{wide, cgen.Generic, map[string]any{"form": FormSkinny, "mr": 1, "ku": 8, "tail": TailScalar}},
		{tall, best, map[string]any{"form": FormSkinny, "mr": 4, "nr": 3, "depth": 1, "tail": TailMasked}},
		{tall, cgen.Generic, map[string]any{"form": FormSkinny, "mr": 2, "nr": 6, "depth": 1, "tail": TailScalar}},
		{tall, best, map[string]any{"form": FormSkinny, "mr": 7, "nr": 1, "depth": 1, "tail": TailMasked}},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(isas, test.isa) {
				t.Skip("this processor has no " + test.isa)
			}
			s := newTestSpec(t, m, LayoutNN, test.d, 1)
			values := map[string]any{"form": FormTiled, "isa": test.isa, "vec": vectorBytes(test.isa), "ku": 2}
			if test.d != wide { // sums of rows have no blocks along K
				values["kc"] = 32
			}
			maps.Copy(values, test.values)
			p, err := s.Space().Make(values)
			if err != nil {
				t.Fatal(err)
			}
			src, err := s.Linked().Generate(p)
			if err != nil {
				t.Fatal(err)
			}
			// Two blocks of most numbers of rows, and of columns too.
			if out, err := program(t, nativetest.Brisk(src), remainderText, time.Minute, "40", "110"); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
