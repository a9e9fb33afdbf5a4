package gemm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/nativetest"
)

// hammerText is a program that calls tune_kernel many times, with shapes in random order and after random pauses, so that calls find
// the threads both spinning and asleep. It compares each result with that of three loops.
const hammerText = `
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tune_kernel(void *const *args, const int64_t *dims);

static float a[1 << 14], b[1 << 14], c[1 << 14], want[4][1 << 14];
static const int64_t shapes[4][3] = {{64, 96, 33}, {7, 5, 9}, {65, 97, 3}, {33, 150, 60}};

int main(int argc, char **argv) {
	srand(1);
	for (int i = 0; i < 1 << 14; i++) {
		a[i] = (rand() % 2001 - 1000) / 1000.f;
		b[i] = (rand() % 2001 - 1000) / 1000.f;
	}
	for (int s = 0; s < 4; s++) {
		const int64_t *d = shapes[s];
		for (int i = 0; i < d[0]; i++)
			for (int j = 0; j < d[1]; j++)
				for (int p = 0; p < d[2]; p++) want[s][i * d[1] + j] += a[i * d[2] + p] * b[p * d[1] + j];
	}
	for (int call = 0; call < atoi(argv[1]); call++) {
		const int s = rand() % 4;
		if (rand() % 50 == 0) usleep(rand() % 300);
		memset(c, 0xff, sizeof c);
		tune_kernel((void *[]){a, b, c}, shapes[s]);
		for (int64_t i = 0; i < shapes[s][0] * shapes[s][1]; i++)
			if (!(fabsf(c[i] - want[s][i]) < 1e-3)) {
				printf("call %d, shape %d, element %d: %g, want %g\n", call, s, (int)i, c[i], want[s][i]);
				return 1;
			}
	}
	return 0;
}
`

// program links a kernel with a C program, runs that, and returns its output.
func program(t *testing.T, src native.Source, text string, limit time.Duration, args ...string) (string, error) {
	t.Helper()
	compilers, err := cc.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"kernel.c": src.Text, "main.c": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := append(slices.Clone(src.Flags), "-o", "program", "kernel.c", "main.c", "-lm")
	at := slices.IndexFunc(compilers, func(c cc.Compiler) bool { return c.Name == src.Compiler })
	if out, err := nativetest.Compile(t, dir, compilers[at].Path, run...); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(run, " "), err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "program"), args...).CombinedOutput()
	return string(out), err
}

// hammer calls kernels with several threads many times.
func hammer(t *testing.T, calls int) {
	m := host(t)
	s := newTestSpec(t, m, LayoutNN, Dims{64, 96, 33}, 4)
	for n, values := range []map[string]any{
		{"split": "rows", "chunk": 1, "dynamic": true},
		{"split": "rows", "chunk": 1, "dynamic": false},
		{"split": "columns", "chunk": 0, "pack_x": true, "pack_y": true},
	} {
		for key, v := range map[string]any{"form": "tiled", "mr": 2, "nv": 1, "workers": 4, "spin": 1} {
			values[key] = v
		}
		p, err := s.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		// A pool that hangs must not hang the test.
		if out, err := program(t, src, hammerText, 30*time.Second+time.Duration(calls)*time.Millisecond, fmt.Sprint(calls)); err != nil {
			t.Errorf("%d: %s: %v\n%s", n, p, err, out)
		}
	}
}

// Every result of a product on several threads is right, and every call ends.
func TestThreads(t *testing.T) { hammer(t, 500) }
