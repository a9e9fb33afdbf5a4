package library

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tune/kernels/elementwise"
	"tune/kernels/gemm"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// variant returns a kernel of the product that is tuned for a shape.
func variant(t *testing.T, layout string, d gemm.Dims, values map[string]any) (Variant, native.Linkage) {
	t.Helper()
	m := native.Machine{ISAs: []string{"generic", "avx2", "avx512"}, Compilers: nativetest.Here(t).Compilers[:1]}
	s, err := gemm.NewSpec(m, layout, d, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Linked().Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	return Variant{Source: src, Point: p.String(), Tuned: fmt.Sprintf("m=%d,n=%d,k=%d", d.M, d.N, d.K)}, s.Linkage()
}

// product is a library of three kernels: skinny and generic, tiled and wide with a copy for one shape, and tiled with two threads.
func product(t *testing.T, name string) Library {
	t.Helper()
	few, linkage := variant(t, gemm.LayoutNN, gemm.Dims{M: 2, N: 90, K: 70}, map[string]any{"form": "skinny", "isa": "generic", "vec": 16, "mr": 2, "ku": 1, "workers": 1})
	wide, _ := variant(t, gemm.LayoutNN, gemm.Dims{M: 50, N: 47, K: 33}, map[string]any{"form": "tiled", "isa": "avx512", "fixed": true, "workers": 1, "pack_x": true, "mr": 3, "nv": 1, "ku": 1})
	two, _ := variant(t, gemm.LayoutNN, gemm.Dims{M: 120, N: 130, K: 140}, map[string]any{"form": "tiled", "isa": "avx2", "vec": 32, "mr": 4, "nv": 1, "ku": 1, "workers": 2, "pack_y": true})
	leaf := func(v int) *choice.Node { return &choice.Node{Variant: v} }
	tree := &choice.Tree{Features: choice.Features(3), Root: &choice.Node{
		Variant: -1, Feature: 0, Threshold: 4, Left: leaf(0),
		Right: &choice.Node{Variant: -1, Feature: 6, Threshold: 1 << 17, Left: leaf(1), Right: leaf(2)},
	}}
	return Library{Name: name, About: "A test", Manifest: []byte("{}\n"), Functions: []Function{{
		Name: "gemm", Linkage: linkage, Variants: []Variant{few, wide, two}, Tree: tree,
		Shapes: [][]int64{{2, 90, 70}, {50, 47, 33}, {120, 130, 140}},
	}}}
}

// write writes a library to a directory.
func write(t *testing.T, l Library, dir string) {
	t.Helper()
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tool returns a command in a directory. It skips the test where the machine lacks the tool.
func tool(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && !strings.Contains(name, "/") {
		t.Skip(err)
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	return c
}

// run runs a command, which must not fail, and returns what it prints. What it compiles from files of the directory is kept.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	command := tool(t, dir, name, args...)
	var out []byte
	var err error
	elsewhere := slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, os.TempDir()) })
	switch {
	case name == "make":
		out, err = nativetest.Make(t, dir, args...)
	case (name == "gcc" || name == "g++") && !elsewhere:
		out, err = nativetest.Compile(t, dir, name, args...)
	default:
		out, err = command.CombinedOutput()
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestLibrary builds a library, and links it as its README says.
func TestLibrary(t *testing.T) {
	dir, prefix := t.TempDir(), filepath.Join(t.TempDir(), "prefix")
	l := product(t, "demo")
	write(t, l, dir)
	run(t, dir, "make", "install", "PREFIX="+prefix)

	t.Run("selftest", func(t *testing.T) {
		out := run(t, dir, "make", "check")
		for _, want := range []string{`\nall right\n`, `demo_gemm: v0 [1-9]`, `without avx2:.* v1 0 times, v2 0 times, plain [1-9]`, `v0: [1-9][0-9]+ calls`} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("no %q in:\n%s", want, out)
			}
		}
		out = run(t, dir, "./build/selftest", "--hide", "avx2", "--rounds", "20")
		if !strings.Contains(out, "v2 0 times") || strings.Contains(out, "without fma") {
			t.Errorf("with --hide avx2:\n%s", out)
		}
	})
	t.Run("bench", func(t *testing.T) {
		out := run(t, dir, "make", "bench", "SHAPES=demo_gemm 3x20x20")
		m := regexp.MustCompile(`demo_gemm 3x20x20: v0 is chosen in ([0-9.]+) ns`).FindStringSubmatch(out)
		if m == nil {
			t.Fatal(out)
		}
		if took, err := strconv.ParseFloat(m[1], 64); err != nil || took > 30 {
			t.Errorf("a choice takes %s ns, want at most 30: %v", m[1], err)
		}
		if out, err := tool(t, dir, "./build/bench", "3x20").CombinedOutput(); err == nil || !strings.Contains(string(out), "3x20 is no shape") {
			t.Errorf("a shape of two numbers: %v, %s", err, out)
		}
	})
	t.Run("header", func(t *testing.T) {
		strict := []string{"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "include/demo.h"}
		run(t, dir, "gcc", append([]string{"-std=c11", "-x", "c"}, strict...)...)
		run(t, dir, "g++", append([]string{"-std=c++17", "-x", "c++"}, strict...)...)
		run(t, dir, "gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "src/dispatch.c", "selftest.c", "bench.c", "-Isrc")
	})
	t.Run("symbols", func(t *testing.T) {
		for _, line := range strings.Split(run(t, dir, "nm", "-g", "--defined-only", "libdemo.a"), "\n") {
			if f := strings.Fields(line); len(f) == 3 && !strings.HasPrefix(f[2], "demo_") {
				t.Errorf("libdemo.a defines %s", f[2])
			}
		}
		var names []string
		for _, line := range strings.Split(run(t, dir, "nm", "-D", "--defined-only", "libdemo.so"), "\n") {
			if f := strings.Fields(line); len(f) == 3 {
				names = append(names, f[2])
			}
		}
		if got := strings.Join(names, " "); got != "demo_gemm demo_gemm_choice" {
			t.Errorf("libdemo.so defines %s", got)
		}
	})
	t.Run("CMake", func(t *testing.T) {
		build := t.TempDir()
		run(t, dir, "cmake", "-S", ".", "-B", build)
		run(t, dir, "cmake", "--build", build)
		run(t, build, "ctest")
	})
	t.Run("README", func(t *testing.T) { readme(t, dir, prefix) })
	t.Run("two", func(t *testing.T) { two(t, l, prefix) })
}

// snippet returns a program of a README, in a language.
func snippet(t *testing.T, text, lang, with string) string {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], with) {
			return m[1]
		}
	}
	t.Fatalf("the README has no program in %s with %q", lang, with)
	return ""
}

// readme runs the programs of a README, which print an element of the product of ones.
func readme(t *testing.T, dir, prefix string) {
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "LD_LIBRARY_PATH="+prefix+"/lib", "PKG_CONFIG_PATH="+prefix+"/lib/pkgconfig", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=1")
	flags := []string{"-I" + prefix + "/include", "-L" + prefix + "/lib", "-ldemo"}
	for _, test := range []struct {
		lang, with, file string
		command          []string
	}{
		{"c", "", "example.c", append([]string{"gcc", "-Wall", "-Werror", "-o", "example", "example.c"}, flags...)},
		{"cpp", "", "example.cc", append([]string{"g++", "-Wall", "-Werror", "-o", "example", "example.cc"}, flags...)},
		{"go", "cgo pkg-config", "example.go", []string{"go", "build", "-o", "example", "example.go"}},
		{"python", "", "example.py", []string{"cp", "example.py", "example"}},
	} {
		t.Run(test.lang, func(t *testing.T) {
			if test.lang == "go" {
				if testing.Short() {
					t.Skip("cgo takes a while")
				}
				tool(t, "", "pkg-config")
			}
			at := t.TempDir()
			if err := os.WriteFile(filepath.Join(at, test.file), []byte(snippet(t, string(text), test.lang, test.with)), 0o666); err != nil {
				t.Fatal(err)
			}
			build := tool(t, at, test.command[0], test.command[1:]...)
			build.Env = environment
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program := tool(t, at, "./example")
			if test.lang == "python" {
				program = tool(t, at, "python3", "example")
			}
			program.Env = environment
			if out, err := program.CombinedOutput(); err != nil || strings.TrimSuffix(strings.TrimSpace(string(out)), ".0") != "4" {
				t.Errorf("it prints %q: %v", out, err)
			}
		})
	}
}

// linking is a program in C and C++ that calls two libraries at a shape with padded rows, compares them with three loops, and prints the
// choices at the shapes of its arguments.
const linking = `
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "demo.h"
#include "other.h"

enum { M = 37, N = 41, K = 29, LDA = 31, LDB = 50, LDC = 43 };
static float a[M * LDA], b[K * LDB], c[M * LDC];

static int wrong(void)
{
	for (int i = 0; i < M; i++)
		for (int j = 0; j < LDC; j++) {
			double sum = 0;
			for (int p = 0; p < K; p++)
				sum += (double)a[i * LDA + p] * (double)b[p * LDB + j];
			if (j >= N && i < M - 1)
				sum = 77;
			if (i * LDC + j < (M - 1) * LDC + N && !(fabs(sum - (double)c[i * LDC + j]) < 1e-4))
				return printf("C[%d,%d] is %g, want %g\n", i, j, (double)c[i * LDC + j], sum);
		}
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < M * LDA; i++)
		a[i] = (float)(i % 17) - 8;
	for (int i = 0; i < K * LDB; i++)
		b[i] = (float)(i % 19) / 16;
	for (int i = 0; i < M * LDC; i++)
		c[i] = 77;
	demo_gemm(M, N, K, a, LDA, b, LDB, c, LDC);
	if (wrong())
		return 1;
	for (int i = 0; i < M * LDC; i++)
		c[i] = 77;
	other_gemm(M, N, K, a, LDA, b, LDB, c, LDC);
	if (wrong())
		return 1;
	for (int i = 1; i + 2 < argc; i += 3)
		printf("%d\n", demo_gemm_choice(atol(argv[i]), atol(argv[i + 1]), atol(argv[i + 2])));
	return 0;
}
`

// two links two libraries into one program in C and in C++, statically, and compares what the program chooses with the tree.
func two(t *testing.T, l Library, prefix string) {
	dir := t.TempDir()
	write(t, product(t, "other"), dir)
	run(t, dir, "make", "libother.a", "CFLAGS=-O0")
	if err := os.WriteFile(filepath.Join(dir, "two.c"), []byte(linking), 0o666); err != nil {
		t.Fatal(err)
	}
	libraries := []string{"-I" + prefix + "/include", "-Iinclude", "-x", "none", filepath.Join(prefix, "lib/libdemo.a"), "libother.a", "-lm", "-pthread"}
	run(t, dir, "gcc", slices.Concat([]string{"-Wall", "-Wextra", "-Werror", "-o", "two_c", "-x", "c", "two.c"}, libraries)...)
	run(t, dir, "g++", slices.Concat([]string{"-Wall", "-Wextra", "-Werror", "-o", "two_cc", "-x", "c++", "two.c"}, libraries)...)
	run(t, dir, "./two_c")
	var shapes []string
	var want []int
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := []int64{1 + r.Int64N(9), 1 + r.Int64N(200), 1 + r.Int64N(200)}
		if r.IntN(3) == 0 {
			s = []int64{64 + r.Int64N(2), 64, 32}
		}
		if r.IntN(20) == 0 {
			s = []int64{1 << 40, 1 << 40, 1 << 40}
		}
		want = append(want, l.Functions[0].Tree.At(s))
		for _, n := range s {
			shapes = append(shapes, fmt.Sprint(n))
		}
	}
	machine := nativetest.Here(t)
	for n, line := range strings.Fields(run(t, dir, "./two_cc", shapes...)) {
		expected := want[n]
		if expected == 1 && !slices.Contains(machine.ISAs, "avx512") || expected == 2 && !slices.Contains(machine.ISAs, "avx2") {
			expected = -1
		}
		if line != fmt.Sprint(expected) {
			t.Errorf("at %v the program chooses %s, the tree %d", shapes[3*n:3*n+3], line, expected)
		}
	}
}

// ctypesProgram multiplies with padded rows, and compares with three loops.
const ctypesProgram = `
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
f = library.demo_gemm
pointer, whole = ctypes.POINTER(ctypes.c_float), ctypes.c_int64
f.argtypes = [whole, whole, whole, pointer, whole, pointer, whole, pointer, whole]
f.restype = None
m, n, k, lda, ldb, ldc = 7, 11, 5, 6, 13, 17
a = (ctypes.c_float * (m * lda))(*[i % 7 - 3 for i in range(m * lda)])
b = (ctypes.c_float * (k * ldb))(*[i % 5 - 2 for i in range(k * ldb)])
c = (ctypes.c_float * (m * ldc))(*[77] * (m * ldc))
f(m, n, k, a, lda, b, ldb, c, ldc)
for i in range(m):
    for j in range(ldc):
        want = sum(a[i * lda + p] * b[p * ldb + j] for p in range(k)) if j < n else 77
        assert c[i * ldc + j] == want, (i, j, c[i * ldc + j], want)
f(m, n, 0, a, lda, b, ldb, c, ldc)
assert c[n - 1] == 0 and c[n] == 77
f(0, n, k, None, lda, b, ldb, None, ldc)
`

// TestCtypes: Python calls the shared library, also with empty dimensions.
func TestCtypes(t *testing.T) {
	dir := t.TempDir()
	write(t, product(t, "demo"), dir)
	run(t, dir, "make", "libdemo.so", "CFLAGS=-O0")
	run(t, dir, "python3", "-c", ctypesProgram, filepath.Join(dir, "libdemo.so"))
}

// TestSelftestFaults: the self-test finds variants that are wrong, names them, and ends with status 1.
func TestSelftestFaults(t *testing.T) {
	dir := t.TempDir()
	l := product(t, "demo")
	write(t, l, dir)
	run(t, dir, "make", "check", "CFLAGS=-O0", "ROUNDS=50")
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, after, want string }{
		{"a wrong element", "if (dims[0] == 7) c[0] += 1;", `v0 at m=7 .*C\[0,0\] is .* by the plain form`},
		{"beyond the last column", "if (dims[5] > dims[1] && dims[0] > 1) c[dims[1]] = 0;", `v0 at .*C\[0,[0-9]+\] is beyond the last column and was written`},
		{"before the beginning", "c[-1] = 0;", `v0 at .*C was written [1-4] bytes before its beginning`},
		{"after the end", "c[(dims[0] - 1) * dims[5] + dims[1]] = 0;", `v0 at .*beyond its end`},
		{"an input", "((float *)args[1])[0] = 3;", `v0 at .*B was written, which is only read`},
		{"at one shape", "if (dims[0] == 50 && dims[1] == 47 && dims[2] == 33 && dims[3] == 33) c[5] = 0;", `v0 at m=50 n=47 k=33 lda=33 .*C\[0,5\]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			const head = "void tune_kernel("
			text := strings.Replace(string(files["src/gemm_v0.c"]), head, "static void right(", 1) +
				head + "void *const *args, const i64 *dims)\n{\n\tfloat *c = args[2];\n\tright(args, dims);\n\t" + test.after + "\n}\n"
			if err := os.WriteFile(filepath.Join(dir, "src/gemm_v0.c"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			finds(t, dir, test.want)
		})
	}
	t.Run("features", func(t *testing.T) {
		for name, from := range map[string]string{"src/gemm_v0.c": "", "src/dispatch.c": ".needs & ~demo_features()"} {
			text := strings.Replace(string(files[name]), from, ".needs & 0", map[bool]int{true: 1}[from != ""])
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		finds(t, dir, `dispatcher at .*v[12] was chosen, and the processor lacks what that needs`)
	})
}

// finds runs the self-test of a directory, which has to find a fault.
func finds(t *testing.T, dir, want string) {
	t.Helper()
	out, err := nativetest.Make(t, dir, "check", "CFLAGS=-O0")
	if err == nil || !strings.Contains(string(out), "Error 1") || strings.Contains(string(out), "all right") || !regexp.MustCompile("FAULT: demo_gemm "+want).Match(out) {
		t.Errorf("want %s: %v\n%s", want, err, out)
	}
}

// TestSanitized runs the self-test under the tools of the compiler that watch memory and arithmetic.
func TestSanitized(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	dir := t.TempDir()
	const flags = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte("int main(void) { return 0; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := tool(t, dir, "gcc", append(strings.Fields(flags), "a.c")...).CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	write(t, product(t, "demo"), dir)
	run(t, dir, "make", "check", "CFLAGS="+flags, "ROUNDS=20")
}

// TestFiles: the files of a library are the same each time, and say what they are.
func TestFiles(t *testing.T) {
	l := product(t, "demo")
	l.About = "of */ a\nrun \\"
	first, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.Files()
	if err != nil || !maps.EqualFunc(first, second, bytes.Equal) {
		t.Errorf("the second time other files: %v", err)
	}
	for name, want := range map[string]string{
		"include/demo.h": " * of * / a run\n", "Makefile": "# of */ a run\n", "demo.pc.in": "Description: of */ a run\nVersion: 1\n",
		"src/gemm_v1.c": "#error \"compile this file with -mavx512f", "src/gemm_v2.c": "Tuned for m=120,n=130,k=140", "src/gemm_plain.c": "the plain form",
		"CMakeLists.txt": `PROPERTIES COMPILE_OPTIONS "-O2;-ffp-contract=fast;-mavx2;-mfma;-pthread;-D_GNU_SOURCE")`, "manifest.json": "{}",
		"README.md": "`demo_gemm`: C = A·B. 3 variants, of up to 2 threads.",
	} {
		if !strings.Contains(string(first[name]), want) {
			t.Errorf("%s has no %q:\n%s", name, want, first[name])
		}
	}
}

// TestCompilers: without CC each kernel is compiled by the compiler that it was tuned with.
func TestCompilers(t *testing.T) {
	l := product(t, "demo")
	for i, name := range []string{"gcc", "clang", ""} {
		l.Functions[0].Variants[i].Source.Compiler = name
	}
	dir := t.TempDir()
	write(t, l, dir)
	compilers := func(args ...string) string {
		var out []string
		for _, m := range regexp.MustCompile(`set -x; (\S+) .* src/(\w+)\.c`).FindAllStringSubmatch(run(t, dir, "make", append(args, "-n", "libdemo.a")...), -1) {
			out = append(out, m[2]+" "+m[1])
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	if got, want := compilers(), "dispatch cc, gemm_plain cc, gemm_v0 gcc, gemm_v1 clang, gemm_v2 cc"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := compilers("CC=mine"), "dispatch mine, gemm_plain mine, gemm_v0 mine, gemm_v1 mine, gemm_v2 mine"; got != want {
		t.Errorf("with CC: got %s, want %s", got, want)
	}
}

// TestCheck: what cannot be a library is refused, with what is wrong.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(*Library)
	}{
		{"the library's name: ", func(l *Library) { l.Name = "2x" }},
		{"word of C", func(l *Library) { l.Functions[0].Name = "int" }},
		{"no function", func(l *Library) { l.Functions = nil }},
		{"version", func(l *Library) { l.Version = "1\n2" }},
		{"would be there twice: choose another name", func(l *Library) { l.Functions = append(l.Functions, l.Functions[0]) }},
		{"function kernel: every library has a name demo_kernel of its own", func(l *Library) { l.Functions[0].Name = "kernel" }},
		{"math.h, libmath or a target of CMake is something else", func(l *Library) { l.Name = "math" }},
		{"it has no variants, or no tree that chooses among them", func(l *Library) { l.Functions[0].Variants = nil }},
		{"the tree chooses variant 3 of 3", func(l *Library) { l.Functions[0].Tree = &choice.Tree{Root: &choice.Node{Variant: 3}} }},
		{"the tree asks for dimension 3 of 3", func(l *Library) { l.Functions[0].Tree.Features = choice.Features(4) }},
		{"the flag -march=native does not say which features the processor needs: take a kernel whose instruction set is named", func(l *Library) { l.Functions[0].Variants[0].Source.Flags = []string{"-march=native"} }},
		{"the flag \"-O2 -x\"", func(l *Library) { l.Functions[0].Variants[0].Source.Flags = []string{"-O2 -x"} }},
		{"the flag -mamx-fp16: no function of a library finds out", func(l *Library) { l.Functions[0].Variants[1].Source.Flags = []string{"-mamx-fp16"} }},
		{"the plain form is compiled with -mavx2: it has to run on every processor", func(l *Library) { l.Functions[0].Linkage.Plain.Flags = []string{"-mavx2"} }},
		{`its language is "ada": want c or c++`, func(l *Library) { l.Functions[0].Variants[1].Source.Lang = "ada" }},
		{`its compiler is "./icc": want a name without a path, such as gcc-13`, func(l *Library) { l.Functions[0].Variants[1].Source.Compiler = "./icc" }},
		{"it calls a function of the user's", func(l *Library) { l.Functions[0].Variants[1].Source.Call = &native.Call{} }},
		{"the plain form takes an operand that is laid out ahead", func(l *Library) { l.Functions[0].Linkage.Plain.Pack = &native.Pack{} }},
		{"argument w of variant 1 has a layout of its own: want one array of the function, the same for all variants", func(l *Library) {
			l.Functions[0].Variants[1].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "w"}}
		}},
		{"argument b of variant 1 has a layout of its own, which is not known at any shape", func(l *Library) {
			l.Functions[0].Variants[1].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "b"}}
		}},
		{"argument b of variant 1 is laid out by [n], and by [n k] in others", func(l *Library) {
			l.Functions[0].Variants[0].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "b"}, Parameters: "float *packed, const float *b, int64_t n, int64_t k", Name: "x", Length: "n"}
			l.Functions[0].Variants[1].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "b"}, Parameters: "float *packed, const float *b, int64_t n", Name: "x", Length: "n"}
		}},
		{"the size of argument B depends on q, which is no dimension of the shape", func(l *Library) {
			l.Functions[0].Variants[1].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "b"}, Parameters: "float *packed, const float *b, int64_t q", Name: "x", Length: "n"}
		}},
		{"m is a multiple of \"q\": that is no dimension of the shape", func(l *Library) { l.Functions[0].Linkage.Dims[0].MultipleOf = "q" }},
		{"argument B is laid out ahead: want an array without a leading dimension", func(l *Library) {
			l.Functions[0].Variants[1].Source.Pack = &native.Pack{Repacking: space.Repacking{Argument: "b"}, Parameters: "float *packed, const float *b, int64_t k, int64_t n", Name: "x", Length: "n"}
		}},
		{"has 2 dimensions: want 3", func(l *Library) { l.Functions[0].Shapes = [][]int64{{1, 2}} }},
		{"buffers and the extents of 0", func(l *Library) { l.Functions[0].Linkage.Extents = nil }},
		{"is of type const short *: want a pointer to one of float", func(l *Library) { l.Functions[0].Linkage.Buffers[0].Type = "const short *" }},
		{"no buffer is written: want one whose type is not const", func(l *Library) { l.Functions[0].Linkage.Buffers[2].Type = "const float *" }},
		{"two parameters have the name m", func(l *Library) { l.Functions[0].Linkage.Buffers[2].Name = "m" }},
		{"apart: want names of dimensions", func(l *Library) { l.Functions[0].Linkage.Extents[0].Rows = "q" }},
		{"where arrays are dense: that is no dimension of the shape", func(l *Library) { l.Functions[0].Linkage.Dims[3].Dense = "lda" }},
		{`the tolerance grows with "z", which is no dimension`, func(l *Library) { l.Functions[0].Linkage.Tolerance.Root = "z" }},
	} {
		l := product(t, "demo")
		test.change(&l)
		if _, err := l.Files(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want an error with %q: %v", test.want, err)
		}
	}
}

// TestFunctions: a library may have several functions, of arrays without strides, with exact results and with sums.
func TestFunctions(t *testing.T) {
	m := native.Machine{ISAs: []string{"generic"}, Compilers: nativetest.Here(t).Compilers[:1]}
	l := Library{Name: "maths", About: "A test"}
	for _, test := range []struct {
		op     string
		values map[string]any
	}{
		{"relu", map[string]any{"tail": "overlap", "streams": 3, "stores": "nontemporal"}},
		{"dot", map[string]any{"unroll": 2, "workers": 2, "threshold": 1000, "split": "arrays"}},
	} {
		s := nativetest.Made(t, elementwise.Fields(), "op="+test.op+",n=5000,arrays=3,threads=2", m, elementwise.NewSpec)
		maps.Copy(test.values, map[string]any{"code": "vector", "isa": "generic", "lanes": 4})
		p, err := s.Space().Make(test.values)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Linked().Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		l.Functions = append(l.Functions, Function{
			Name: test.op, Linkage: s.Linkage(), Variants: []Variant{{Source: src, Point: p.String()}}, Tree: &choice.Tree{Root: &choice.Node{}}, Shapes: [][]int64{{5000, 3}},
		})
	}
	swapped, linkage := variant(t, gemm.LayoutNT, gemm.Dims{M: 5, N: 40, K: 20}, map[string]any{
		"form": "tiled", "isa": "generic", "vec": 16, "swap": true, "mr": 3, "nv": 1, "ku": 2, "tail": "padded", "fixed": true, "workers": 1,
	})
	l.Functions = append(l.Functions, Function{
		Name: "by_rows", Linkage: linkage, Variants: []Variant{swapped}, Tree: &choice.Tree{Root: &choice.Node{}}, Shapes: [][]int64{{5, 40, 20}},
	})
	dir := t.TempDir()
	write(t, l, dir)
	out := run(t, dir, "make", "all", "check", "CFLAGS=-O0 -Wall -Werror")
	for _, want := range []string{"maths_by_rows: v0 ", "maths_relu: v0 ", "maths_dot: v0 ", "all right"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/maths.h"))
	if err != nil || !strings.Contains(string(header), "void maths_dot(int64_t n, int64_t arrays, const float *a, const float *b, float *y);") {
		t.Errorf("%v\n%s", err, header)
	}
}
