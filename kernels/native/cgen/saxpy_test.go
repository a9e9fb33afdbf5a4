package cgen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestSaxpy compiles the family of the example, runs it and compares it with its reference. It is skipped where there is no C compiler.
func TestSaxpy(t *testing.T) {
	nativetest.Run(t, nativetest.Made(t, saxpyKernel{}.Info().Shape, "n=1000", nativetest.Here(t), newSaxpy), nativetest.Options{Points: 4})
}

// TestSaxpyTuned runs the example, in which tune.Run searches the family, and verifies what it exports.
func TestSaxpyTuned(t *testing.T) {
	nativetest.Here(t) // or skips
	host := nativetest.Brief()
	defer host.Close()
	dir := filepath.Join(t.TempDir(), "run")
	report, err := tuneSaxpy(host, dir)
	if err != nil {
		t.Fatal(err)
	}
	s := report.Schedule
	if report.Result.Told != 6 || s == nil || s.Kernel != "saxpy" || s.Baseline.Key != "isa=native" {
		t.Fatalf("%+v exports %+v", report.Result, s)
	}
	program, err := os.ReadFile(filepath.Join(dir, "best.kernel.c"))
	if err != nil || !strings.Contains(string(program), "y[i] += a * x[i];") {
		t.Errorf("the program is %s, %v", program, err)
	}
	if n, err := tune.Replay(kernels.Table{saxpyKernel{host}}, dir); n != 6 || err != nil {
		t.Errorf("%d points are replayed, %v", n, err)
	}
}

// Example_text prints the C of a point.
func Example_text() {
	shape, _ := kernels.ParseShape(saxpyKernel{}.Info().Shape, "n=1000")
	s, _ := newSaxpy(shape, native.Machine{Arch: "amd64", ISAs: []string{"generic", "avx2"}})
	p, _ := s.Space().Parse("isa=avx2 unroll=2")
	src, _ := s.Generate(p)
	fmt.Print(src.Text)
	// Output:
	// #include <stdint.h>
	// typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
	// void tune_kernel(void *const *args, const int64_t *dims)
	// {
	// 	const float a = *(const float *)args[0], *x = args[1];
	// 	float *y = args[2];
	// 	int64_t i = 0;
	// 	for (; i + 16 <= dims[0]; i += 16) {
	// 		*(vec *)(y + i + 0) += a * *(const vec *)(x + i + 0);
	// 		*(vec *)(y + i + 8) += a * *(const vec *)(x + i + 8);
	// 	}
	// 	for (; i < dims[0]; i++)
	// 		y[i] += a * x[i];
	// }
}
