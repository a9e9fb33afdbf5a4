package gemm

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
)

// thinText is a program that computes thin products with padded rows, and compares each with three loops. What follows each matrix cannot be
// read or written. What lies between rows is not a number.
const thinText = `
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void tune_kernel(void *const *args, const int64_t *dims);

#define ROOM ((int64_t)1 << 23)

static char *room(void) {
	char *p = mmap(0, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p + ROOM, 4096, PROT_NONE)) exit(2);
	return p;
}

// The matrix that ends where the room does.
static float *matrix(char *room, int64_t rows, int64_t cols, int64_t ld, int step) {
	float *m = (float *)(room + ROOM) - ((rows - 1) * ld + cols);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < ld && (i < rows - 1 || j < cols); j++) m[i * ld + j] = step && j < cols ? ((i * cols + j) * step % 2001 - 1000) / 1000.f : NAN;
	return m;
}

static char *rooms[3];

static void check(int64_t m, int64_t n, int64_t k, int64_t pad) {
	const int64_t lda = k + pad, ldb = n + 2 * pad, ldc = n + 3 * pad;
	const float *a = matrix(rooms[0], m, k, lda, 37), *b = matrix(rooms[1], k, n, ldb, 53);
	float *c = matrix(rooms[2], m, n, ldc, 0);
	tune_kernel((void *[]){(void *)a, (void *)b, c}, (int64_t[]){m, n, k, lda, ldb, ldc});
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < ldc && (i < m - 1 || j < n); j++) {
			double want = 0, size = 0;
			for (int64_t p = 0; j < n && p < k; p++) {
				want += (double)a[i * lda + p] * b[p * ldb + j];
				size += fabs((double)a[i * lda + p] * b[p * ldb + j]);
			}
			if (j < n ? !(fabs(c[i * ldc + j] - want) <= 1e-6 + 1e-6 * size) : !isnan(c[i * ldc + j])) {
				printf("m=%d n=%d k=%d pad=%d: C[%d,%d] is %g, want %g\\n", (int)m, (int)n, (int)k, (int)pad, (int)i, (int)j, c[i * ldc + j], want);
				exit(1);
			}
		}
}

int main(void) {
	for (int i = 0; i < 3; i++) rooms[i] = room();
	for (int64_t pad = 0; pad < 4; pad += 3) {
		for (int64_t m = 1; m <= 19; m++)
			for (int64_t n = 1; n <= 18; n++)
				for (int64_t k = 1; k <= 45; k += m % 3 + 1) check(m, n, k, pad);
		for (int64_t m = 1; m <= 5; m++)
			for (int64_t n = 19; n <= 150; n++) check(m, n, 1 + (n + m) % 11, pad);
		for (int64_t m = 4; m <= 9; m++)
			for (int64_t n = 17; n <= 66; n++)
				for (int64_t k = 5; k <= 41; k += 6) check(m, n, k, pad);
		for (int64_t m = 1; m <= 3; m++)
			for (int64_t n = 151; n <= 470; n += m) check(m, n, 1 + (n + m) % 19, pad);
		for (int64_t k = 1; k <= 4; k++) {
			for (int64_t m = 1; m <= 9; m++) check(m, 151 + 7 * m + k, k, pad);
			check(66, 2001, k, pad); // a C that is far away
		}
		for (int64_t n = 1; n <= 9; n++) // several blocks of a column
			for (int64_t k = 1020; k <= 1030; k++) check(11, n, k, pad);
		for (int64_t m = 1; m <= 3; m++) { // several blocks of columns, and a B that is far away
			check(m, 2100 + m, 9, pad);
			check(m, 701, 403 + m, pad);
		}
		for (int64_t n = 1; n <= 6; n++) check(271, n, 1001, pad); // an A that is far away
	}
	return 0;
}
`

// thinPoints are points of one instruction set that have little in common.
func thinPoints(isa string) []map[string]any {
	vec := vectorBytes(isa)
	return []map[string]any{
		{"form": FormTiled, "vec": vec, "mr": 4, "nv": 2, "tail": TailMasked},
		{"form": FormTiled, "vec": 32, "mr": 2, "nv": 3, "tail": TailScalar, "pack_x": true, "compiler": "clang"},
		{"form": FormSkinny, "vec": 32, "mr": 3, "ku": 4, "tail": TailMasked},
	}
}

// TestThin: results of thin products are right with all remainders, where rows are padded too, and nothing else is read or written.
func TestThin(t *testing.T) {
	m := host(t)
	for _, isa := range isasOf(m) {
		if isa == cgen.Generic {
			continue
		}
		for _, compiler := range m.Compilers {
			t.Run(isa+" "+compiler, func(t *testing.T) {
				t.Parallel()
				s := newTestSpec(t, m, LayoutNN, Dims{5, 83, 37}, 1)
				values := map[string]any{"isa": isa, "ku": 1}
				maps.Copy(values, thinPoints(isa)[0])
				values["compiler"] = compiler
				p, err := s.Space().Make(values)
				if err != nil {
					t.Fatal(err)
				}
				src, err := s.Linked().(*Spec).Finish(p)
				if err != nil {
					t.Fatal(err)
				}
				if out, err := program(t, nativetest.Brisk(src), thinText, time.Minute); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}

// TestThinCode: all variants of an instruction set have the same code for thin products, and call it first at all shapes but the one that they
// were tuned for. Candidates of a search have none, and neither has code for several threads, for the other layout, or for processors without
// masks.
func TestThinCode(t *testing.T) {
	const call = "const int asked = j.m == 5 && j.n == 83 && j.k == 37; // which it was tuned for\n\tif (!asked && thin(j.m, "
	for _, isa := range []string{cgen.AVX2, cgen.AVX512} {
		w := &writer{}
		newThinWriter(w, isa).write()
		for _, values := range thinPoints(isa) {
			s := newTestSpec(t, wide, LayoutNN, Dims{5, 83, 37}, 2)
			values["isa"], values["workers"] = isa, 1
			p, err := s.Space().Make(values)
			if err != nil {
				t.Fatal(err)
			}
			src, err := s.Linked().(*Spec).Finish(p)
			if err != nil || !strings.Contains(src.Text, w.String()) || strings.Count(src.Text, call) != 1 {
				t.Errorf("%s: the linked code has other code for thin products: %v", p, err)
			}
			if src, err = s.Linked().Generate(p); err != nil || strings.Contains(src.Text, "thin") {
				t.Errorf("%s: the code of a search has code for thin products: %v", p, err)
			}
		}
	}
	for _, test := range []struct {
		layout string
		values map[string]any
	}{
		{LayoutNT, map[string]any{"form": FormTiled, "isa": cgen.AVX512}},
		{LayoutNN, map[string]any{"form": FormTiled, "isa": cgen.AVX512, "workers": 2}},
		{LayoutNN, map[string]any{"form": FormTiled, "isa": cgen.Generic, "vec": 16, "mr": 4, "nv": 1}},
		{LayoutNN, map[string]any{"form": FormNaive}},
	} {
		s := newTestSpec(t, wide, test.layout, Dims{20, 83, 37}, 2)
		p, err := s.Space().Make(test.values)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Linked().(*Spec).Finish(p)
		if err != nil || strings.Contains(src.Text, "thin") {
			t.Errorf("%s: code for thin products: %v", p, err)
		}
	}
}

// TestThinAmounts: a thin product does what thin products do, and another one the rest.
func TestThinAmounts(t *testing.T) {
	s := newTestSpec(t, wide, LayoutNN, Dims{5, 83, 37}, 1)
	for _, test := range []struct {
		isa     string
		m, n, k int64
		thin    bool
	}{
		{cgen.AVX512, 3, 90, 90, true}, {cgen.AVX512, 9, 17, 5, false}, {cgen.AVX512, 8, 64, 5, true}, {cgen.AVX512, 8, 65, 5, false}, {cgen.AVX512, 90, 16, 90, true}, {cgen.AVX512, 90, 90, 4, true},
		{cgen.AVX2, 3, 90, 90, true}, {cgen.AVX2, 90, 6, 15, true}, {cgen.AVX2, 90, 16, 90, true}, {cgen.AVX2, 90, 17, 90, false}, {cgen.AVX2, 4, 17, 90, true}, {cgen.AVX2, 90, 1, 5, true},
	} {
		for _, values := range thinPoints(test.isa) {
			values["isa"] = test.isa
			p, err := s.Space().Make(values)
			if err != nil {
				t.Fatal(err)
			}
			got := amountsAt(t, s.Amounts(p), test.m, test.n, test.k)
			of := len(got) - 4 // the last are those of thin products
			others, thin := got[:of], []float64{1, float64(test.m * test.n), float64(test.m * test.n * test.k), 0}
			if !test.thin {
				others, thin = []float64{0}, make([]float64, 4)
				if !slices.ContainsFunc(got[:of], func(x float64) bool { return x > 0 }) {
					t.Errorf("%s m=%d n=%d k=%d: nothing is done", p, test.m, test.n, test.k)
				}
			}
			if slices.IndexFunc(others, func(x float64) bool { return x != 0 }) >= 0 || !slices.Equal(got[of:], thin) {
				t.Errorf("%s m=%d n=%d k=%d: %v", p, test.m, test.n, test.k, got)
			}
		}
	}
}
