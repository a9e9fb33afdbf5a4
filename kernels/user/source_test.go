package user

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/kernels/native"
	"tune/space"
)

// needCompiler skips a test where there is no C compiler, and sends its objects to a directory of its own.
func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	t.Setenv("XDG_CACHE_HOME", cacheHome)
}

// cacheHome is a cache that all tests share.
var cacheHome = filepath.Join(os.TempDir(), "tune-user-test-cache")

const axpyC = `
#include "helper.h"
#ifndef STEP
#define STEP 1
#endif
void axpy(float a, const float *x, float *y, long n) {
	for (long i = 0; i < n; i += STEP)
		for (long j = i; j < i + STEP && j < n; j++)
			y[j] += times(a, x[j]);
}
void axpy_bad(float a, const float *x, float *y, long n) {
	axpy(a, x, y, n);
	if (STEP == 4) y[n / 2] += 1;
	if (STEP == 8) y[n] = 0;
	if (STEP == 16) ((float *)x)[0] = 1;
	if (STEP == 32) for (volatile int i = 0; ; i++);
	if (STEP == 64) *(volatile int *)0 = 0;
#if STEP == 128
	this does not compile
#endif
}
`

const helperH = "#pragma once\nstatic float times(float a, float x) { return a * x; }\n"

const axpyYAML = `
kernel: {name: axpy, shape: {n: 1000}}
space: {parameters: [{name: STEP, type: pow2, from: 1, to: 128}, {name: factor, type: enum, values: [0.5, 2.0]}, {name: opt, type: enum, values: [-O1, "-O2 -funroll-loops"]}]}
source:
  file: axpy.c
  function: FUNCTION
  arguments:
    - {name: a, type: float, value: factor}
    - {name: x, type: float, length: n, access: read, fill: {random: [-2, 2]}}
    - {name: y, type: float, length: n, access: update, fill: {random: [0, n], integers: true}}
    - {name: n, type: long, value: n}
  reference: {function: axpy, shapes: [{n: 1}, {n: 37}]}
  compilers: [gcc]
  flags: ["{{opt}}"]
  limits: {call: 500ms}
`

func TestSource(t *testing.T) {
	needCompiler(t)
	sound := strings.Replace(axpyC, "this does not compile", "", 1)
	k, _ := load(t, strings.Replace(axpyYAML, "FUNCTION", "axpy", 1), "axpy.c", sound, "helper.h", helperH)
	kernelstest.Run(t, k, "n=50")
}

// TestFurtherShape: an argument without a value at a shape is told with its place in the file, also at a further shape of the reference.
func TestFurtherShape(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("FUNCTION", "axpy", "length: n, access: read", "length: n / 2, access: read", "shapes: [{n: 1}, {n: 37}]", "shapes: [{n: 36}, {n: 37}]").Replace(axpyYAML)
	k, _ := load(t, text, "axpy.c", axpyC, "helper.h", helperH)
	for shape, want := range map[string]string{
		"":     ":9:38: source.arguments[1].length: at the shape n=37 of the reference: n / 2, which is 18.5, is not a whole number",
		"n=33": ":9:38: source.arguments[1].length: at the shape n=33: n / 2, which is 16.5, is not a whole number",
	} {
		_, err := k.Problem(shapeOf(t, k, shape))
		if faults, ok := errors.AsType[Faults](err); !ok || len(faults) != 1 || err.Error() != k.Path()+want {
			t.Errorf("%q: %v, want %s", shape, err, want)
		}
	}
}

func TestSourceOutcomes(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, strings.Replace(axpyYAML, "FUNCTION", "axpy_bad", 1), "axpy.c", axpyC, "helper.h", helperH)
	p := problem(t, k, "n=100")
	for step, want := range map[string]struct {
		status space.Status
		reason string
	}{
		"1":   {space.OK, ""},
		"2":   {space.OK, ""},
		"4":   {space.WrongAnswer, "n=100: y[50] is "},
		"8":   {space.Crashed, "past the end of buffer y"},
		"16":  {space.Crashed, "wrote into its input x"},
		"32":  {space.Timeout, "500ms"},
		"64":  {space.Crashed, ""},
		"128": {space.CompileFailed, "axpy.c:19:2: error: unknown type name 'this'"},
	} {
		out := evaluate(t, p, `STEP=`+step+` factor=2.0 opt="-O2 -funroll-loops"`)
		if out.Status != want.status || !strings.Contains(out.Reason, want.reason) {
			t.Errorf("STEP=%s: %v: %s; want %v with %q", step, out.Status, out.Reason, want.status, want.reason)
		}
	}
}

// TestReasons: the reason of a failure names the shape once or, for a kernel without a shape, the function.
func TestReasons(t *testing.T) {
	needCompiler(t)
	const yaml = `kernel: {name: reasons}
space: {parameters: [{name: W, type: int, from: 0, to: 3}]}
source:
  text: |
    void f(const float *x, float *y, int n) {
      static int calls;
      calls++;
      for (int i = 0; i < n; i++) y[i] = 2 * x[i];
      if (W == 1 || W == 2 && calls % 2 == 0) y[3] += 1;
      if (W == 3) *(volatile int *)0 = 1;
    }
    void plain(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }
  function: f
  arguments:
    - {name: x, type: float, length: 8, access: read}
    - {name: y, type: float, length: 8, access: write}
    - {name: n, type: int, value: 8}
  reference: {function: plain}
`
	shaped := strings.NewReplacer("{name: reasons}", "{name: reasons, shape: {n: 8}}", "function: plain}", "function: plain, shapes: [{n: 8}, {n: 9}]}").Replace(yaml)
	for text, name := range map[string]string{yaml: "f", shaped: "n=8"} {
		k, _ := load(t, text)
		p := problem(t, k, "")
		for point, want := range map[string]string{"W=1": ": y[3] is ", "W=2": ": in the second call: y[3] is ", "W=3": ": segmentation fault "} {
			out := evaluate(t, p, point)
			if !strings.HasPrefix(out.Reason, name+want) || strings.Count(out.Reason, name+":") != 1 {
				t.Errorf("%s at %s: %s, want %s", point, name, out.Reason, name+want)
			}
		}
	}
}

// TestFlagsWithoutObject: flags with which the compiler makes no shared object are the fault of the points that have them, also
// where the function is examined before the run.
func TestFlagsWithoutObject(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("FUNCTION", "axpy", `[-O1, "-O2 -funroll-loops"]`, "[-O1, -fsyntax-only, -c]",
		"shapes:", "flags: [-O1], shapes:").Replace(axpyYAML)
	k, _ := load(t, text, "axpy.c", axpyC, "helper.h", helperH)
	p := problem(t, k, "n=100")
	if err := p.Traits().Examine(t.Context()); err != nil {
		t.Errorf("it is examined with %v", err)
	}
	for flag, want := range map[string]space.Status{"-O1": space.OK, "-fsyntax-only": space.CompileFailed, "-c": space.CompileFailed} {
		out := evaluate(t, p, "STEP=1 factor=2.0 opt="+flag)
		if out.Status != want || want != space.OK && !strings.Contains(out.Reason, "made no shared object") {
			t.Errorf("%s: %v: %s", flag, out.Status, out.Reason)
		}
	}
	k, _ = load(t, strings.Replace(text, "[-O1, -fsyntax-only, -c]", "[-fsyntax-only]", 1), "axpy.c", axpyC, "helper.h", helperH)
	if err := problem(t, k, "n=100").Traits().Examine(t.Context()); err != nil {
		t.Errorf("with no other flag it is examined with %v", err)
	}
}

// TestConstantInputs: a result that holds for the very numbers of the file alone is wrong in timed calls, unless the file says that
// these are all.
func TestConstantInputs(t *testing.T) {
	needCompiler(t)
	const text = `
void sum(const float *x, float *y, long n) { float s = 0; for (long i = 0; i < n; i++) s += x[i]; y[0] = s; }
void lazy(const float *x, float *y, long n) { static float s; if (LAZY) { if (s == 0) sum(x, &s, n); y[0] = s; } else sum(x, y, n); }
`
	const file = `
kernel: {name: lazy, shape: {n: 20000}}
space: {parameters: [{name: LAZY, type: enum, values: [0, 1]}]}
source:
  file: lazy.c
  function: lazy
  VARY
  arguments:
    - {name: x, type: float, length: n, access: read, fill: {constant: 0.5}}
    - {name: y, type: float, length: 1, access: write}
    - {name: n, type: long, value: n}
  reference: {function: sum, tolerance: {relative: 0.00001}}
  flags: [-O2]
`
	for vary, want := range map[string]space.Status{"threads: 1": space.WrongAnswer, "vary: true": space.WrongAnswer, "vary: false": space.Invalid, "vary: false\n  trusted: fast": space.OK} {
		k, _ := load(t, strings.Replace(file, "VARY", vary, 1), "lazy.c", text)
		p := whole(t, k, "")
		if out := evaluate(t, p, "LAZY=1"); out.Status != want {
			t.Errorf("%s: %v: %s, want %v", vary, out.Status, out.Reason, want)
		}
		if vary == "vary: true" && !stress {
			continue // the honest one is that of "threads: 1", where inputs vary too
		}
		if out := evaluate(t, brief(p), "LAZY=0"); out.Status != space.OK {
			t.Errorf("%s: honest: %v: %s", vary, out.Status, out.Reason)
		}
	}
}

// TestFixedBesideRandom: work on a file or a constant that is kept from an earlier call makes timed calls wrong, also where another
// input is random. Those who do the work in each call are right, and so are those who rely on the order of a table.
func TestFixedBesideRandom(t *testing.T) {
	needCompiler(t)
	const text = `
static void prepare(float *c, const float *w, long m) {
	for (long i = 0; i < m; i++) { float v = w[i]; for (int k = 0; k < 20; k++) v = v * 0.5f + w[i]; c[i] = v; }
}
void plain(const float *w, const float *d, float *y, long m, long n) {
	static float c[1 << 22];
	prepare(c, w, m);
	for (long i = 0; i < n; i++) y[i] = c[i % m] * d[i] + y[i];
}
void lazy(const float *w, const float *d, float *y, long m, long n) {
	static float c[1 << 22];
	static const float *have;
	if (!LAZY || have != w) { prepare(c, w, m); have = w; }
	for (long i = 0; i < n; i++) y[i] = c[i % m] * d[i] + y[i];
}
static long walk(const float *w, float x, long m) { long k = 0; while (k < m && w[k] < x) k++; return k; }
void count(const float *w, const float *d, float *y, long m, long n) { for (long i = 0; i < n; i++) y[i] = walk(w, d[i], m); }
void search(const float *w, const float *d, float *y, long m, long n) {
	for (long i = 0; i < n; i++) {
		long low = 0, high = m;
		while (low < high) { long k = (low + high) / 2; if (w[k] < d[i]) low = k + 1; else high = k; }
		y[i] = low;
	}
}
`
	const file = `
kernel: {name: lazy, shape: {m: SIZE, n: SIZE}}
space: {parameters: [{name: LAZY, type: enum, values: [0, 1]}]}
source:
  file: lazy.c
  function: lazy
  arguments:
    - {name: w, type: float, length: m, access: read, fill: {FILL}}
    - {name: d, type: float, length: n, access: read, fill: {random: [0, 1]}}
    - {name: y, type: float, length: n, access: update}
    - {name: m, type: long, value: m}
    - {name: n, type: long, value: n}
  reference: {function: plain}
  compilers: [gcc]
  flags: [-O2]
  threads: 1
`
	var weights, table strings.Builder
	for i := range 500 {
		fmt.Fprintln(&weights, float64(i*7919%1000)/1000)
		fmt.Fprintln(&table, float64(i/2)/250) // each number twice
	}
	inPlace := strings.NewReplacer("name: y, type: float, length: n, access: update", "name: y, type: float, length: n, access: update, fill: {constant: 2}",
		"FILL", "constant: 0.5", "SIZE", "500")
	for name, test := range map[string]struct {
		file string
		lazy space.Status
	}{
		"file":         {strings.NewReplacer("FILL", "file: w.txt", "SIZE", "500").Replace(file), space.WrongAnswer},
		"constants":    {inPlace.Replace(file), space.WrongAnswer},
		"large":        {strings.NewReplacer("FILL", "constant: 0.5", "SIZE", "1500000").Replace(file), space.WrongAnswer},
		"vary: false":  {strings.NewReplacer("FILL", "file: w.txt", "SIZE", "500", "threads: 1", "vary: false").Replace(file), space.OK},
		"sorted table": {strings.NewReplacer("FILL", "file: table.txt", "SIZE", "500", "lazy\n", "search\n", "plain", "count").Replace(file), space.OK},
	} {
		k, _ := load(t, test.file, "lazy.c", text, "w.txt", weights.String(), "table.txt", table.String())
		p := whole(t, k, "")
		if out := evaluate(t, p, "LAZY=1"); out.Status != test.lazy {
			t.Errorf("%s: %v: %s, want %v", name, out.Status, out.Reason, test.lazy)
		}
		if test.lazy == space.OK {
			continue // and so are honest ones
		}
		if out := evaluate(t, brief(p), "LAZY=0"); out.Status != space.OK {
			t.Errorf("%s: honest: %v: %s", name, out.Status, out.Reason)
		}
	}
}

// TestScaleFloats: numbers in order stay in order in every mix of two copies, and all others differ by up to a quarter.
func TestScaleFloats(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		numbers []float64
		order   int
	}{
		{[]float64{0.5, 0.5, 0.5}, 0},
		{[]float64{3, 1, 2, -4}, 0},
		{[]float64{-inf, -2, 1, 1, 1.0000001, 5, inf}, 1},
		{[]float64{9, 2, 2, -1, -7}, -1},
	} {
		var data []byte
		for _, x := range test.numbers {
			data = encode(data, x, native.F32)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		a, b := scaleFloats(data, native.F32, rng), scaleFloats(data, native.F32, rng)
		if bytes.Equal(a, b) || bytes.Equal(a, data) {
			t.Errorf("%v: the copies do not differ", test.numbers)
		}
		mixed := func(mix int) func(i int) float64 {
			return func(i int) float64 {
				from := a
				if mix>>i&1 == 1 {
					from = b
				}
				return decode(from[4*i:4*i+4], native.F32)
			}
		}
		for mix := range 1 << len(test.numbers) {
			if order := orderOf(len(test.numbers), mixed(mix)); test.order != 0 && order != test.order {
				t.Errorf("%v: mix %b has order %d", test.numbers, mix, order)
			}
		}
		for i, x := range test.numbers {
			if y := mixed(0)(i); x != y && !(math.Abs(y-x) <= 0.2500001*math.Abs(x)) {
				t.Errorf("%v: %v became %v", test.numbers, x, y)
			}
		}
	}
}

// TestFeatureMacros: what a source asks the system's headers for, it gets.
func TestFeatureMacros(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, `
kernel: {name: gnu, shape: {n: 100}}
space: {parameters: [{name: X, type: enum, values: [0, 1]}]}
source:
  file: gnu.c
  function: copy
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
  reference: {function: copy}
`, "gnu.c", "/* Needs GNU. */\n#define _GNU_SOURCE\n#include <string.h>\n#include <sched.h>\nvoid copy(const float *x, float *y) { cpu_set_t s; CPU_ZERO(&s); mempcpy(y, x, 400 + X * CPU_COUNT(&s)); }\n")
	if out := evaluate(t, problem(t, k, ""), "X=1"); out.Status != space.OK {
		t.Errorf("%v: %s", out.Status, out.Reason)
	}
}

// TestSourceExport compiles what is exported, as its own comment says, in an empty directory.
func TestSourceExport(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, strings.Replace(axpyYAML, "FUNCTION", "axpy", 1), "axpy.c", axpyC, "helper.h", helperH)
	p := problem(t, k, "")
	point, err := p.Space().Parse(`STEP=8 factor=2.0 opt="-O2 -funroll-loops"`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Build(t.Context(), point)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	texts := map[string]string{}
	for _, a := range artifacts {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		texts[a.Name] = b.String()
		if err := os.WriteFile(filepath.Join(dir, "best."+a.Name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, command, _ := strings.Cut(texts["kernel.c"], "// Build: ")
	command, _, _ = strings.Cut(command, "\n")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(command, "-funroll-loops") {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	header := texts["kernel.h"]
	if !strings.Contains(header, "#define STEP 8\n") || strings.Contains(header, "#define opt") || !strings.Contains(header, "gcc -O2 -funroll-loops") {
		t.Errorf("the header is\n%s", header)
	}
	// The tuned source with the header in place of tune.
	test := "#include \"best.kernel.h\"\n#include \"axpy.c\"\nint main(void) { return STEP == 8 ? 0 : 1; }\n"
	for name, text := range map[string]string{"main.c": test, "axpy.c": axpyC, "helper.h": helperH} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command("sh", "-c", "gcc -Wall -Werror -Wno-unused-function main.c -o main && ./main")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSourceForms evaluates the baseline of kernels in all forms.
func TestSourceForms(t *testing.T) {
	needCompiler(t)
	const head = "kernel: {shape: {n: 6}}\nspace: {parameters: [{name: T, type: int, from: 2, to: 3}]}\nsource:\n  compilers: [gcc]\n  flags: [-O1]\n"
	numbers := []float64{1, 2, 3, 4, 5, 6}
	var raw []byte
	for _, v := range numbers {
		raw = encode(raw, 2*v, native.F64)
	}
	files := []string{"in.txt", "1,2,3\n4 5;6\n", "out.bin", string(raw), "off.csv", "2,4,6,8,10,13",
		"twice.c", "void f(const double *x, double *y, size_t n) { for (size_t i = 0; i < n; i++) y[i] = {{T}} * x[i] * 2 / {{T}}; double a[2][1] = {{1},{2}}; y[0] += a[0][0] - 1 + {{n}} - {{n}}; }\n",
		"f.cc", "namespace k { template <int N> void scale(int *x, double by) { for (int i = 0; i < N; i++) x[i] = (int)(x[i] * by); } }\nstatic void run(int32_t *x, double by) { k::scale<6>(x, by * T / T); }\nstatic void slow(int32_t *x, double by) { for (int i = 0; i < 6; i++) x[i] = (int)(x[i] * by); }\n",
		"slow.c", "void g(const double *x, double *y, size_t n) { while (n-- > 0) y[n] = x[n] + x[n]; }\n",
		"types.c", "#include <stdint.h>\nvoid f(int8_t *a, uint8_t *b, int16_t *c, uint16_t *d, uint32_t *e, int64_t *f, uint64_t *g, double s, float t, int8_t i, size_t j) {\n" +
			"\ta[0] += i; b[0] += T; c[0] += i; d[0] += 1; e[0] += j; f[0] += s * 4; g[0] += t * 4;\n}\n",
		"omp.c", "#include <omp.h>\nvoid f(int *y, int n) {\n#pragma omp parallel for\n\tfor (int i = 0; i < n; i++) y[i] = omp_get_num_threads();\n}\nvoid g(int *y, int n) { for (int i = 0; i < n; i++) y[i] = T; }\n",
	}
	const doubles = "  arguments: [{name: x, type: double, length: n, access: read%s}, {name: y, type: f64, length: n, access: write}, {name: n, type: size_t, value: n}]\n"
	fromFile := strings.Replace(doubles, "%s", ", fill: {file: in.txt}, vary: false", 1)
	for _, test := range []struct {
		name, text string
		status     space.Status
		reason     string
	}{
		{"template with a file of inputs and one of outputs", "  file: twice.c\n  parameters: template\n  function: f\n" + fromFile + "  reference: {outputs: {y: out.bin}, tolerance: exact}\n", space.OK, ""},
		{"wrong by the file of outputs", "  file: twice.c\n  parameters: template\n  function: f\n" + fromFile + "  reference: {outputs: {y: off.csv}, tolerance: {absolute: 0.5}}\n", space.WrongAnswer, "n=6: y[5] is 12, want 13 ± 0.5 ± 0·|want|: 1 of 6 elements are wrong"},
		{"within a tolerance", "  file: twice.c\n  parameters: template\n  function: f\n" + fromFile + "  reference: {outputs: {y: off.csv}, tolerance: {absolute: 0.5, relative: 0.04}}\n", space.OK, ""},
		{"slow source as reference", "  file: twice.c\n  parameters: template\n  function: f\n" + strings.Replace(doubles, "%s", "", 1) + "  reference: {file: slow.c, function: g}\n", space.OK, ""},
		{"C++", "  file: f.cc\n  function: run\n  arguments: [{name: x, type: int, length: n, access: update, fill: {random: [-9, n]}}, {name: by, type: double, value: 2.5}]\n  reference: {function: slow}\n", space.OK, ""},
		{"text in the file", "  text: |\n    void f(unsigned *y) { *y = T; }\n  function: f\n  arguments: [{name: y, type: unsigned, length: 1, access: write}]\n  reference: {function: f}\n  vary: false\n", space.OK, ""},
		{"all types", "  file: types.c\n  function: f\n  arguments: [{name: a, type: i8, length: 1, access: update}, {name: b, type: u8, length: 1, access: update}, {name: c, type: i16, length: 1, access: update}, {name: d, type: u16, length: 1, access: update}, {name: e, type: u32, length: 1, access: update}, {name: f, type: i64, length: 1, access: update}, {name: g, type: u64, length: 1, access: update}, {name: s, type: double, value: 0.25}, {name: t, type: float, value: 0.5}, {name: i, type: int8_t, value: -3}, {name: j, type: size_t, value: 2 ** 30}]\n  reference: {function: f}\n", space.OK, ""},
		{"a function that the C library has too", "  text: |\n    void step(int *y) { *y = T; }\n    void index(int *y) { step(y); }\n  function: index\n  arguments: [{name: y, type: int, length: 1, access: write}]\n  reference: {function: step}\n  vary: false\n", space.OK, ""},
		{"threads are told to OpenMP", "  file: omp.c\n  function: f\n  arguments: [{name: y, type: int, length: n, access: write}, {name: n, type: int, value: n}]\n  reference: {function: g}\n  threads: T\n  vary: false\n", space.OK, ""},
	} {
		text := head + test.text
		if strings.Contains(test.name, "OpenMP") {
			text = strings.Replace(text, "[-O1]", "[-O1, -fopenmp]", 1)
		}
		k, _ := load(t, append([]string{text}, files...)...)
		out := evaluate(t, problem(t, k, ""), "T=2")
		if out.Status != test.status || !strings.Contains(out.Reason, test.reason) {
			t.Errorf("%s: %v: %s; want %v with %q", test.name, out.Status, out.Reason, test.status, test.reason)
		}
		// The tolerance of the one that is off by 1 is 0.5 + 0.04·13.
		want := kernels.Deviation{}
		if test.name == "within a tolerance" {
			want = kernels.Deviation{MaxError: 1, ErrorShare: 1 / 1.02}
		}
		if d, _, ok := kernels.SplitDeviation(out.Metrics); ok != (test.status == space.OK) || d != want {
			t.Errorf("%s: the deviation is %+v, %t; want %+v", test.name, d, ok, want)
		}
	}
}

// TestReferenceAtFault: what is wrong with the reference is an error, and no outcome of a candidate.
func TestReferenceAtFault(t *testing.T) {
	needCompiler(t)
	for body, want := range map[string]string{
		"nonsense":                "the reference of kernel kernel: compile failed: gcc: ",
		"*(volatile int *)0 = 0;": "compare the lengths and values of source.arguments with what the function reads and writes",
		"for (int i = 0; i < n; i++) y[i] = 0; y[n] = 1;": "compare the lengths and values of source.arguments with what the function reads and writes",
		"y[0] = x[0]; *(int *)x = 1;":                     "wrote into its input x (byte 0)",
		"y[0] = x[-1]; y[-1] = 1;":                        "wrote before the start of buffer y",
	} {
		k, _ := load(t, `
kernel: {shape: {n: 4}}
space: {parameters: [{name: T, type: int, from: 2, to: 3}]}
source:
  file: f.c
  function: f
  compilers: [gcc]
  arguments: [{name: x, type: int, length: n, access: read}, {name: y, type: int, length: n, access: write}, {name: n, type: int, value: n}]
  reference: {file: g.c, function: g}
`, "f.c", "void f(const int *x, int *y, int n) { y[0] = T; }\n", "g.c", "void g(const int *x, int *y, int n) { "+body+" }\n")
		p := problem(t, k, "")
		e := &kernels.Evaluator{Problem: p}
		_, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: p.Space().At(0)}})
		if err == nil || !strings.Contains(err.Error(), want) || kernels.AsRejection(err) != nil {
			t.Errorf("%s: got %v", body, err)
		}
		if _, is := errors.AsType[*UncompiledReferenceError](err); is != (body == "nonsense") {
			t.Errorf("%s: whether it is an error of the compilation: %t", body, is)
		}
	}
}

// TestShapesOfPoints: a point is checked at those further shapes where it exists.
func TestShapesOfPoints(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, `
kernel: {shape: {n: 16}}
space: {parameters: [{name: T, type: pow2, from: 1, to: 8}], constraints: [n % T == 0]}
source:
  text: 'void f(int *y, int n) { for (int i = 0; i < n; i += T) for (int j = 0; j < T; j++) y[i + j] = i + j; } void g(int *y, int n) { while (n--) y[n] = n; }'
  function: f
  compilers: [gcc]
  arguments: [{name: y, type: int, length: n, access: write}, {name: n, type: int, value: n}]
  reference: {function: g, shapes: [{n: 4}, {n: 7}]}
  vary: false
`)
	p := problem(t, k, "")
	for _, key := range []string{"T=1", "T=2", "T=4", "T=8"} {
		if out := evaluate(t, p, key); out.Status != space.OK {
			t.Errorf("%s: %+v", key, out)
		}
	}
	spec, err := newSpec(k, map[string]int{"n": 16})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"T=1": 3, "T=2": 2, "T=4": 2, "T=8": 1} {
		point, err := spec.space.Parse(key)
		if err != nil {
			t.Fatal(err)
		}
		if calls, err := spec.calls(point); err != nil || len(calls) != want {
			t.Errorf("%s is called at %d shapes (%v), want %d", key, len(calls), err, want)
		}
	}
	if _, err := k.Problem(shapeOf(t, k, "n=17")); err != nil {
		t.Error(err) // T = 1 divides it
	}
}

func shapeOf(t *testing.T, k *Kernel, text string) kernels.Shape {
	t.Helper()
	s, err := kernels.ParseShape(k.Info().Shape, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestInputs: inputs depend on the seed alone, and keep to their ranges.
func TestInputs(t *testing.T) {
	k, err := read("my.yaml", []byte(strings.NewReplacer(
		"type: float, length: n, access: read", "type: int8_t, length: 1000 * n, access: read, fill: {random: [-128, 127]}",
		"length: n, access: write", "length: 1000 * n, access: update, fill: {random: [2, 3]}").Replace(sourceText)), library)
	if err != nil {
		t.Fatal(err)
	}
	s := k.d.source
	draw := func(seed uint64) [][]byte {
		c, err := s.shapeCase(space.Point{}, map[string]int{"n": 8})
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.inputs(c, seed, true)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	a, b, c := draw(1), draw(1), draw(2)
	for i := range a {
		if !bytes.Equal(a[i], b[i]) || bytes.Equal(a[i], c[i]) {
			t.Errorf("buffer %d: the seed does not decide", i)
		}
	}
	seen := map[byte]bool{}
	for _, v := range a[0] {
		seen[v] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d values of 256", len(seen))
	}
	for i := 0; i < len(a[1]); i += 4 {
		if v := math.Float32frombits(binary.NativeEndian.Uint32(a[1][i:])); v < 2 || v > 3 {
			t.Fatalf("element %d is %v", i/4, v)
		}
	}
}

func TestCompareElements(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		elem      native.Elem
		got, want []float64
		t         tolerance
		count, at int
	}{
		{native.F32, []float64{1, 2, 3}, []float64{1, 2, 3}, tolerance{}, 0, 0},
		{native.F64, []float64{0, nan, math.Inf(1)}, []float64{math.Copysign(0, -1), nan, math.Inf(1)}, tolerance{}, 0, 0},
		{native.F64, []float64{1, nan, 3}, []float64{1, 2, 3}, tolerance{1e9, 0}, 1, 1},
		{native.F64, []float64{1, math.Inf(1), 3}, []float64{1, math.Inf(-1), 3}, tolerance{1e9, 1}, 1, 1},
		{native.F64, []float64{1, math.Inf(1), 3}, []float64{1, 2, 3}, tolerance{1e9, 1}, 1, 1},
		{native.F32, []float64{1, 102, 10}, []float64{1, 100, 13}, tolerance{0.5, 0.01}, 2, 2},
		{native.F32, []float64{1, 101.5}, []float64{1, 100}, tolerance{0.5, 0.01}, 0, 0},
		{native.I64, []float64{1, 2}, []float64{1, 3}, tolerance{}, 1, 1},
		{native.U8, []float64{1, 2, 255}, []float64{2, 4, 0}, tolerance{1, 0}, 2, 2},
	} {
		var got, want []byte
		for i := range test.got {
			got, want = encode(got, test.got[i], test.elem), encode(want, test.want[i], test.elem)
		}
		at, _, count := compare(got, want, test.elem, test.t, new(kernels.Deviation))
		if count != test.count || count > 0 && at != test.at {
			t.Errorf("%v against %v: %d are wrong, the worst is %d", test.got, test.want, count, at)
		}
	}
	// A float64 does not tell 2^62 and 2^62+2, nor the greatest integers and those below.
	for _, test := range []struct {
		elem      native.Elem
		got, want uint64
		t         tolerance
		wrong     bool
	}{
		{native.I64, 1<<62 + 2, 1 << 62, tolerance{}, true},
		{native.I64, 1<<62 + 2, 1 << 62, tolerance{absolute: 1}, true},
		{native.I64, 1<<62 + 2, 1 << 62, tolerance{absolute: 2}, false},
		{native.I64, 1 << 62, 1<<62 + 2, tolerance{absolute: 1}, true},
		{native.I64, 1<<62 + 2, 1 << 62, tolerance{relative: 1e-19}, true},
		{native.I64, 1<<62 + 2, 1 << 62, tolerance{relative: 1e-18}, false},
		{native.I64, math.MaxUint64, 1, tolerance{absolute: 1}, true}, // -1 and 1
		{native.I64, math.MaxUint64, 1, tolerance{absolute: 2}, false},
		{native.I64, 1 << 63, 1<<63 - 1, tolerance{absolute: 1}, true}, // the least and the greatest
		{native.U64, math.MaxUint64, math.MaxUint64 - 2, tolerance{absolute: 1}, true},
		{native.U64, math.MaxUint64, math.MaxUint64 - 2, tolerance{absolute: 2}, false},
		{native.U64, 1 << 63, 1<<63 - 1, tolerance{absolute: 1}, false},
	} {
		got, want := binary.NativeEndian.AppendUint64(nil, test.got), binary.NativeEndian.AppendUint64(nil, test.want)
		if _, _, count := compare(got, want, test.elem, test.t, new(kernels.Deviation)); (count > 0) != test.wrong {
			t.Errorf("%d against %d as element %v with tolerance %+v: %d are wrong", test.got, test.want, test.elem, test.t, count)
		}
	}
}

// TestExamples evaluates what tune init writes.
func TestExamples(t *testing.T) {
	needCompiler(t)
	for _, command := range []bool{false, true} {
		var files []string
		for i, f := range Example(command) {
			if i > 0 {
				files = append(files, f.Name)
			}
			files = append(files, string(f.Text))
		}
		k, _ := load(t, files...)
		p := problem(t, k, "")
		start := time.Now()
		if out := evaluate(t, p, p.Presets()[0].Point.Key()); out.Status != space.OK {
			t.Errorf("%+v", out)
		}
		if len(k.Warnings()) > 0 {
			t.Errorf("%v", k.Warnings())
		}
		t.Logf("%s: %v", k.Info().Name, time.Since(start))
	}
}
