package library

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tune/kernels/gemm"
	"tune/kernels/library/choice"
	"tune/kernels/native/nativetest"
)

// blas is a library with cblas_sgemm and sgemm_: a tiled and a skinny kernel for each layout.
func blas(t *testing.T) Library {
	t.Helper()
	l := Library{Name: "demo", About: "A test", BLAS: true}
	for _, layout := range []string{gemm.LayoutNN, gemm.LayoutNT} {
		tiled, linkage := variant(t, layout, gemm.Dims{M: 60, N: 60, K: 60}, map[string]any{"form": "tiled", "isa": "avx2", "vec": 32, "mr": 4, "nv": 1, "ku": 1, "workers": 1})
		small, _ := variant(t, layout, gemm.Dims{M: 8, N: 8, K: 8}, map[string]any{"form": "tiled", "isa": "generic", "vec": 16, "mr": 2, "nv": 1, "ku": 1, "workers": 1})
		l.Functions = append(l.Functions, Function{
			Name: layout, Linkage: linkage, Variants: []Variant{small, tiled}, Shapes: [][]int64{{60, 60, 60}},
			Tree: &choice.Tree{Features: choice.Features(3), Root: &choice.Node{
				Variant: -1, Feature: 0, Threshold: 8, Left: &choice.Node{Variant: 0}, Right: &choice.Node{Variant: 1},
			}},
		})
	}
	return l
}

// behind is a shared library with another product, and a routine of BLAS that the library lacks.
const behind = `
void sgemm_(void) { }
void cblas_sgemm(void) { }
float sdot_(void) { return 5; }
`

// calling is a program that was linked to the library behind. It prints a product by each function, a routine of the library behind, the
// numbers of wrong arguments, and what several threads compute.
const calling = `
#include <stdio.h>
#include <stdlib.h>

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *, const float *,
	const int *, const float *, float *, const int *);
float sdot_(void);

int RowMajorStrg = 1;

void cblas_xerbla(int info, const char *routine, const char *form, ...)
{
	(void)form;
	printf("%s %d %d\n", routine, info, RowMajorStrg);
}

void xerbla_(const char *routine, const int *info, size_t length)
{
	printf("%.*s%d\n", (int)length, routine, *info);
}

static int many(void)
{
	enum { M = 700, N = 500, K = 300 };
	float *a = malloc(sizeof *a * M * K), *b = malloc(sizeof *b * K * N), *c = malloc(sizeof *c * M * N);
	int wrong = 0;
	for (int i = 0; i < M * K; i++)
		a[i] = (float)(i % 7);
	for (int i = 0; i < K * N; i++)
		b[i] = (float)(i % 5);
	for (int i = 0; i < M * N; i++)
		c[i] = 1;
	cblas_sgemm(101, 111, 111, M, N, K, 2, a, K, b, N, -1, c, N);
	for (int i = 0; i < M; i += 3)
		for (int j = 0; j < N; j += 7) {
			int sum = 0;
			for (int p = 0; p < K; p++)
				sum += (i * K + p) % 7 * ((p * N + j) % 5);
			wrong += c[i * N + j] != (float)(2 * sum - 1);
		}
	return wrong;
}

int main(void)
{
	const float a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 }, one = 1, zero = 0;
	float c[4] = { 0 };
	const int n = 2, less = 1, bad = -1;
	cblas_sgemm(101, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
	printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
	sgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
	printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
	printf("%g\n", sdot_());
	cblas_sgemm(100, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
	cblas_sgemm(102, 111, 110, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
	cblas_sgemm(101, 111, 111, -1, 2, 2, 1, a, 2, b, 2, 0, c, 2);
	cblas_sgemm(101, 112, 111, 2, 1, 1, 1, a, 1, b, 1, 0, c, 2);
	cblas_sgemm(102, 111, 112, 1, 2, 2, 1, a, 2, b, 1, 0, c, 2);
	cblas_sgemm(101, 111, 111, 1, 2, 2, 1, a, 2, b, 2, 0, c, 1);
	sgemm_("X", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
	sgemm_("N", "N", &n, &n, &bad, &one, a, &n, b, &n, &zero, c, &n);
	sgemm_("N", "C", &n, &n, &n, &one, a, &n, b, &less, &zero, c, &n);
	printf("%g %g %g %g\n%d\n", c[0], c[1], c[2], c[3], many());
	return 0;
}
`

const called = `19 22 43 50
26 38 30 44
5
cblas_sgemm 1 0
cblas_sgemm 3 0
cblas_sgemm 4 0
cblas_sgemm 9 0
cblas_sgemm 11 0
cblas_sgemm 14 0
SGEMM 1
SGEMM 5
SGEMM 10
26 38 30 44
0
`

// TestBLAS: programs that call another BLAS call the library once it is loaded before that, or linked.
func TestBLAS(t *testing.T) {
	dir := t.TempDir()
	write(t, blas(t), dir)
	out := run(t, dir, "make", "all", "check", "CFLAGS=-O1 -Wall -Werror", "ROUNDS=50")
	run(t, dir, "gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-Isrc", "src/blas.c", "selftest.c")
	run(t, dir, "gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-DDEMO_SELFTEST", "src/blas.c")
	for _, want := range []string{`cblas_sgemm, sgemm_: [1-9][0-9]+ calls\n`, `demo_nt: v0 [1-9]`, `\nall right\n`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	var names []string
	for _, line := range strings.Split(run(t, dir, "nm", "-D", "--defined-only", "libdemo.so"), "\n") {
		if f := strings.Fields(line); len(f) == 3 {
			names = append(names, f[2])
		}
	}
	if got, want := strings.Join(names, " "), "cblas_sgemm demo_nn demo_nn_choice demo_nt demo_nt_choice sgemm_"; got != want {
		t.Errorf("libdemo.so defines %s, want %s", got, want)
	}
	for _, line := range strings.Split(run(t, dir, "nm", "-g", "--defined-only", "libdemo.a"), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && !strings.HasPrefix(f[2], "demo_") && f[2] != "cblas_sgemm" && f[2] != "sgemm_" {
			t.Errorf("libdemo.a defines %s", f[2])
		}
	}
	for name, text := range map[string]string{"behind.c": behind, "calling.c": calling} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "gcc", "-shared", "-fPIC", "-w", "-o", "libbehind.so", "behind.c")
	run(t, dir, "gcc", "-rdynamic", "-o", "calling", "calling.c", "./libbehind.so")
	run(t, dir, "gcc", "-o", "linked", "calling.c", "libdemo.a", "./libbehind.so", "-lm", "-pthread")
	for name, with := range map[string]string{
		"./calling": "LD_PRELOAD=" + filepath.Join(dir, "libdemo.so"), "./linked": "DEMO_NUM_THREADS=3",
	} {
		c := tool(t, dir, name)
		c.Env = append(os.Environ(), "OMP_NUM_THREADS=2", with)
		if out, err := c.CombinedOutput(); err != nil || string(out) != called {
			t.Errorf("%s with %s: %v\n%s\nwant\n%s", name, with, err, out, called)
		}
	}
	if out, err := tool(t, dir, "./calling").CombinedOutput(); err != nil || string(out) == called {
		t.Errorf("the program calls the library without LD_PRELOAD: %v\n%s", err, out)
	}
	t.Run("CMake", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it compiles everything again")
		}
		build := t.TempDir()
		run(t, dir, "cmake", "-S", ".", "-B", build)
		run(t, dir, "cmake", "--build", build)
		if out := run(t, build, "ctest", "-V"); !strings.Contains(out, "cblas_sgemm, sgemm_: ") {
			t.Errorf("the self-test of CMake leaves out the BLAS:\n%s", out)
		}
	})
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(readme), "LD_PRELOAD=$PWD/libdemo.so") || !strings.Contains(string(readme), "DEMO_NUM_THREADS") {
		t.Errorf("%v\n%s", err, readme)
	}
}

// TestBLASFaults: the self-test finds what is wrong with the two routines.
func TestBLASFaults(t *testing.T) {
	dir := t.TempDir()
	l := blas(t)
	write(t, l, dir)
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, from, to, want string }{
		{"factor", "alpha * sum[j] + beta * c[j]", "sum[j] + beta * c[j]", `alpha=(0.5|-1) .* beta=(1|0.5|-1) `},
		{"not read", "if (factor == 0)", "if (factor == 2)", `is -?nan.*\n.* alpha=\S+ .* beta=0 `},
		{"columns", "b, a, c, ldb, lda, ldc });", "b, a, c, lda, ldb, ldc });", `cblas_sgemm order=columns `},
		{"Fortran", "c, *ldb, *lda, *ldc });", "c, *ldb, *lda, *m });", `sgemm_ order=columns `},
		{"blocks", "p->a + i :", "p->a :", `trans[ab]=1 `},
		{"threads", "one->c += at;", "one->c += at + 1;", `with [234] threads`},
		{"scratch", "scratch + rows * copied", "scratch", `trans[ab]=1 .* beta=(1|0.5|-1) `},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := string(files["src/blas.c"])
			if !strings.Contains(text, test.from) {
				t.Fatalf("blas.c has no %q", test.from)
			}
			if err := os.WriteFile(filepath.Join(dir, "src/blas.c"), []byte(strings.ReplaceAll(text, test.from, test.to)), 0o666); err != nil {
				t.Fatal(err)
			}
			out, err := nativetest.Make(t, dir, "check", "CFLAGS=-O0", "ROUNDS=1")
			if err == nil || strings.Contains(string(out), "all right") || !regexp.MustCompile(test.want).Match(out) {
				t.Errorf("want %s: %v\n%s", test.want, err, out)
			}
		})
	}
}

// TestBLASCheck: functions that a BLAS cannot be made of are refused.
func TestBLASCheck(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(*Library)
	}{
		{"a BLAS is made of the functions nn and nt: there is no function nt", func(l *Library) { l.Functions = l.Functions[:1] }},
		{"function nt: its B has k rows: a BLAS needs n", func(l *Library) { l.Functions[1].Linkage = l.Functions[0].Linkage }},
		{"threads of a BLAS call it at once: its variants have to allow that, and have one thread each", func(l *Library) { l.Functions[0].Variants[1].Source.Threads = 2 }},
		{"threads of a BLAS call it at once: its variants have to allow that, and have one thread each", func(l *Library) { l.Functions[1].Variants[0].Source.Overlaps = false }},
		{"function nn: a BLAS calls it with (int64_t m", func(l *Library) {
			l.Functions[0].Linkage.Buffers = slices.Clone(l.Functions[0].Linkage.Buffers)
			l.Functions[0].Linkage.Buffers[0].Name = "X"
		}},
	} {
		l := blas(t)
		test.change(&l)
		if _, err := l.Files(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want an error with %q: %v", test.want, err)
		}
	}
}

// TestReferenceBLAS runs the test programs of the reference BLAS (libblas-test of Debian) on the library, in front of the reference.
// TUNE_BLAS_TEST names the folder with the programs and the reference, where it is not that of the package.
func TestReferenceBLAS(t *testing.T) {
	programs := os.Getenv("TUNE_BLAS_TEST")
	if programs == "" {
		programs = "/usr/lib/x86_64-linux-gnu/blas"
	}
	for _, name := range []string{"xscblat3", "xblat3s", "sin3", "sblat3.in", "libblas.so.3"} {
		if _, err := os.Stat(filepath.Join(programs, name)); err != nil {
			t.Skipf("the test programs of the reference BLAS are not installed: %v", err)
		}
	}
	dir := t.TempDir()
	write(t, blas(t), dir)
	run(t, dir, "make", "libdemo.so", "CFLAGS=-O1")
	for _, test := range []struct {
		program, input, output string
		want                   []string
	}{
		{"xscblat3", "sin3", "", []string{
			"cblas_sgemm  PASSED THE TESTS OF ERROR-EXITS", "cblas_sgemm  PASSED THE COLUMN-MAJOR COMPUTATIONAL TESTS", "cblas_sgemm  PASSED THE ROW-MAJOR    COMPUTATIONAL TESTS",
		}},
		{"xblat3s", "sblat3.in", "sblat3.out", []string{"SGEMM  PASSED THE TESTS OF ERROR-EXITS", "SGEMM  PASSED THE COMPUTATIONAL TESTS"}},
	} {
		input, err := os.Open(filepath.Join(programs, test.input))
		if err != nil {
			t.Fatal(err)
		}
		c := tool(t, dir, filepath.Join(programs, test.program))
		c.Stdin = input
		c.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(dir, "libdemo.so"), "LD_LIBRARY_PATH="+programs) // not another BLAS
		out, err := c.CombinedOutput()
		if closed := input.Close(); err != nil || closed != nil {
			t.Fatalf("%s: %v\n%s", test.program, err, out)
		}
		if test.output != "" {
			if out, err = os.ReadFile(filepath.Join(dir, test.output)); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", test.program, want, out)
			}
		}
		if strings.Contains(string(out), "FAIL") || strings.Contains(string(out), "*****") {
			t.Errorf("%s:\n%s", test.program, out)
		}
	}
}
