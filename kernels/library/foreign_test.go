package library

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/rowwise"
)

// TestRowwise: each operation on rows is a function of a library whose self-test passes.
func TestRowwise(t *testing.T) {
	m := nativetest.Here(t)
	l := Library{Name: "rows", About: "A test"}
	for name, op := range map[string]string{
		"softmax": "softmax", "rmsnorm": "rmsnorm", "add_rmsnorm": "add-rmsnorm", "layernorm": "layernorm", "silu": "silu", "swiglu": "swiglu",
		"gelu": "gelu", "gelu_erf": "gelu-erf", "argmax": "argmax",
	} {
		s := nativetest.Made(t, rowwise.Fields(), "op="+op+",rows=7,cols=300", m, rowwise.NewSpec)
		f := Function{Name: name, Linkage: s.Linkage(), Tree: &choice.Tree{Root: &choice.Node{Variant: 1}}, Shapes: [][]int64{{7, 300}}}
		for _, preset := range s.Presets()[:2] {
			src, err := s.Linked().Generate(preset.Point)
			if err != nil {
				t.Fatal(err)
			}
			f.Variants = append(f.Variants, Variant{Source: src, Point: preset.Point.String()})
		}
		l.Functions = append(l.Functions, f)
	}
	dir := t.TempDir()
	write(t, l, dir)
	if out := run(t, dir, "make", "check", "ROUNDS=60", "CFLAGS=-O0"); !strings.Contains(out, "all right") || strings.Count(out, ": v0 0 times, v1 ") < 9 {
		t.Errorf("%s", out)
	}
}

// foreign is a library of a function that is not tune's: one array is updated, one holds indices, and the second variant takes some
// shapes only.
func foreign() Library {
	const text = `#include <stdint.h>
int calls;
__attribute__((visibility("hidden"))) void gather(double *y, const float *x, const int32_t *at, int64_t n, int64_t m)
{
	calls++;
	for (int64_t i = 0; i < n; i++)
		y[i] += x[at[i]] * (double)m;
}
void tune_kernel(void *const *args, const int64_t *dims)
{
	gather(args[0], args[1], args[2], dims[0], dims[1]);
}
`
	plain := native.Source{Lang: "c", Text: text, Flags: []string{"-O1"}, Threads: 1, Symbols: []string{"calls", "gather"}}
	fours := plain
	fours.Takes = "(n % 4 == 0) && (m <= 50)"
	fours.Text = strings.Replace(text, "for (int64_t i = 0; i < n; i++)\n\t\ty[i] += x[at[i]] * (double)m;",
		"for (int64_t i = 0; i < n; i += 4)\n\t\tfor (int64_t j = i; j < i + 4; j++)\n\t\t\ty[j] += x[at[j]] * (double)m;", 1)
	return Library{Name: "demo", About: "A test", Functions: []Function{{
		Name: "gather",
		Linkage: native.Linkage{
			About: "y[i] += x[at[i]]", Foreign: true, Plain: plain,
			Dims: []native.Dim{{Name: "n", About: "results", Least: 2, Most: 100}, {Name: "m", About: "numbers", Least: 3, Most: 1000}},
			Buffers: []native.Argument{
				{Name: "y", Type: "double *", About: "n elements"}, {Name: "in", Type: "const float *", About: "m * 2 elements"}, {Name: "at", Type: "const int32_t *", About: "n elements"},
			},
			Extents: []native.Extent{
				{Length: "n", Count: func(dims []int64) int64 { return dims[0] }}, {Length: "m * 2", Count: func(dims []int64) int64 { return 2 * dims[1] }},
				{Length: "n", Count: func(dims []int64) int64 { return dims[0] }},
			},
			Contents: []native.Content{{Low: "0", High: "n", Updated: true, Tolerance: native.Tolerance{Relative: 1e-12}}, {Low: "-1", High: "1"}, {Low: "0", High: "m * 2 - 1", Whole: true}},
		},
		Variants: []Variant{{Source: plain, Point: "one"}, {Source: fours, Point: "four"}},
		Tree:     &choice.Tree{Features: choice.Features(2), Root: &choice.Node{Variant: -1, Feature: 0, Threshold: 9, Left: &choice.Node{Variant: 0}, Right: &choice.Node{Variant: 1}}},
		Shapes:   [][]int64{{8, 30}, {12, 30}},
	}}}
}

// TestForeign: names of the source do not meet, arrays are drawn within their bounds, and a variant is called where it takes the shape.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	write(t, foreign(), dir)
	out := run(t, dir, "make", "all", "check", "CFLAGS=-O1 -Wall -Werror -fsanitize=address,undefined", "LDFLAGS=-fsanitize=address,undefined")
	if !strings.Contains(out, "all right") || strings.Contains(out, "v0 0 times") || strings.Contains(out, "v1 0 times") {
		t.Errorf("%s", out)
	}
	for _, line := range strings.Split(run(t, dir, "nm", "-g", "--defined-only", "libdemo.a"), "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[1] != "W" && !strings.HasPrefix(f[2], "demo_") && !strings.HasPrefix(f[2], "_") {
			t.Errorf("libdemo.a defines %s", f[2])
		}
	}
	const program = `#include <stdio.h>
#include "demo.h"
int main(void)
{
	const int64_t shapes[][2] = { { 1, 5 }, { 2, 5 }, { 9, 1000 }, { 9, 1001 }, { 12, 50 }, { 12, 51 }, { 13, 50 }, { 100, 3 }, { 101, 3 } };
	for (int i = 0; i < 9; i++)
		printf("%d ", demo_gather_choice(shapes[i][0], shapes[i][1]));
	return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "make", "clean", "libdemo.a")
	run(t, dir, "gcc", "-Iinclude", "-o", "program", "program.c", "libdemo.a")
	if got, want := run(t, dir, "./program"), "-1 0 0 -1 1 -1 -1 1 -1 "; got != want {
		t.Errorf("the choices are %s, want %s", got, want)
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/demo.h"))
	if err != nil || !strings.Contains(string(header), " * n: results; from 2 to 100\n") || !strings.Contains(string(header), "(int64_t n, int64_t m, double *y, const float *in, const int32_t *at)") {
		t.Errorf("%v\n%s", err, header)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(readme), "\nin_ = (ctypes.c_float * 6)") {
		t.Errorf("%v\n%s", err, readme)
	}
}

// cplusplus is a library of a function in C++. All its files instantiate the same template.
func cplusplus() Library {
	const text = `#include <stdint.h>
template <class T> struct Calls { static T count[LANES]; };
template <class T> T Calls<T>::count[LANES];
template <class T> __attribute__((noinline)) void scaled(T *y, const T *x, int64_t n)
{
	static T factor = 2;
	Calls<T>::count[LANES - 1] += 1;
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * factor;
}
extern "C" void tune_kernel(void *const *args, const int64_t *dims)
{
	scaled((float *)args[0], (const float *)args[1], dims[0]);
}
`
	l := foreign()
	f := &l.Functions[0]
	f.Name = "scale"
	plain := native.Source{Lang: "c++", Text: text, Compiler: "g++", Flags: []string{"-std=c++17", "-O3", "-DLANES=1"}, Threads: 1}
	wide := plain
	wide.Flags = []string{"-O3", "-DLANES=40", "-mavx512f", "-mprefer-vector-width=512"}
	of := native.Extent{Length: "n", Count: func(dims []int64) int64 { return dims[0] }}
	f.Linkage = native.Linkage{
		About: "y = 2 x", Foreign: true, Plain: plain, Dims: []native.Dim{{Name: "n", About: "numbers", Least: 1, Most: 1000}},
		Buffers: []native.Argument{{Name: "y", Type: "float *", About: "n elements"}, {Name: "x", Type: "const float *", About: "n elements"}},
		Extents: []native.Extent{of, of},
	}
	f.Variants, f.Tree, f.Shapes = []Variant{{Source: wide, Point: "wide"}}, &choice.Tree{Root: &choice.Node{}}, nil
	return l
}

// TestCPlusPlus: each file in C++ keeps its own copy of an inline function, so that the plain form needs nothing of the processor. Without the
// tool that makes it so, the linker takes one copy for all.
func TestCPlusPlus(t *testing.T) {
	dir := t.TempDir()
	write(t, cplusplus(), dir)
	if out := run(t, dir, "make", "all", "check", "CFLAGS=-Wall -Werror"); !strings.Contains(out, "all right") || !strings.Contains(out, "without avx512f: v0 0 times, plain 26 times") {
		t.Errorf("%s", out)
	}
	for _, file := range []string{"libdemo.so", "build/selftest"} {
		calls, wide := copies(t, filepath.Join(dir, file))
		if len(wide) != 2 || wide[calls["demo_scale_plain"]] || !wide[calls["demo_scale_v0"]] {
			t.Errorf("%s: %v, of which need AVX-512: %v", file, calls, wide)
		}
	}
	for _, line := range strings.Split(run(t, dir, "nm", "-g", "--defined-only", "libdemo.a"), "\n") {
		if f := strings.Fields(line); len(f) == 3 && !strings.HasPrefix(f[2], "demo_") {
			t.Errorf("libdemo.a defines %s", f[2])
		}
	}
	t.Run("CMake", func(t *testing.T) {
		build := t.TempDir()
		run(t, dir, "cmake", "-S", ".", "-B", build)
		run(t, dir, "cmake", "--build", build)
		run(t, build, "ctest")
		if calls, wide := copies(t, filepath.Join(build, "libdemo.so")); len(wide) != 2 || wide[calls["demo_scale_plain"]] {
			t.Errorf("%v, of which need AVX-512: %v", calls, wide)
		}
	})
	const copied = "#!/bin/sh\nexec cp \"$5\" \"$6\"\n"
	if err := os.WriteFile(filepath.Join(dir, "copy"), []byte(copied), 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "make", "clean", "libdemo.so", "OBJCOPY=./copy")
	if calls, wide := copies(t, filepath.Join(dir, "libdemo.so")); len(wide) != 1 || calls["demo_scale_plain"] != calls["demo_scale_v0"] {
		t.Errorf("the linker keeps several copies by itself: %v", calls)
	}
}

// copies disassembles a file. It returns which copy of the template each function calls, by address, and which copies use AVX-512.
func copies(t *testing.T, path string) (calls map[string]string, wide map[string]bool) {
	t.Helper()
	begin, call := regexp.MustCompile(`^0*([0-9a-f]+) <(\w+)>:`), regexp.MustCompile(`\s(?:call|jmp)q?\s+([0-9a-f]+) <_Z6scaledIfEvPT_PKS0_l>`)
	calls, wide = map[string]string{}, map[string]bool{}
	function, address := "", ""
	for _, line := range strings.Split(run(t, "", "objdump", "-d", "--no-show-raw-insn", path), "\n") {
		if m := begin.FindStringSubmatch(line); m != nil {
			address, function = m[1], m[2]
		}
		if m := call.FindStringSubmatch(line); m != nil {
			calls[function] = m[1]
		}
		if strings.HasPrefix(function, "_Z6scaled") {
			wide[address] = wide[address] || strings.Contains(line, "%zmm")
		}
	}
	return calls, wide
}

// TestForeignFaults: the self-test finds a wrong variant, an update that is left out, and a condition that takes too much.
func TestForeignFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, foreign(), dir)
	run(t, dir, "make", "check", "CFLAGS=-O0", "ROUNDS=20")
	for _, test := range []struct{ name, file, old, new, want string }{
		{"wrong", "src/gather_v1.c", "(double)m;", "(double)m + 1;", "FAULT: demo_gather v1 at "},
		{"not an update", "src/gather_v0.c", "y[i] +=", "y[i] =", "FAULT: demo_gather v0 at "},
		{"too much", "src/dispatch.c", "(n % 4 == 0) && ", "", ""}, // it reads an index that is none, and may crash
		{"an element too many", "src/gather_v0.c", "calls++;", "calls++, y[n] = 5;", "y was written"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(dir, test.file)
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), test.old) {
				t.Fatalf("no %q: %v", test.old, err)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), test.old, test.new, 1)), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := nativetest.Make(t, dir, "check", "CFLAGS=-O0"); err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%v\n%s", err, out)
			}
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestForeignCheck: what a library cannot have is refused before anything is measured.
func TestForeignCheck(t *testing.T) {
	l := foreign().Functions[0].Linkage
	for want, change := range map[string]func(*native.Source){
		"the flag -mavx: no function of a library finds out": func(s *native.Source) { s.Flags = []string{"-mavx"} },
		"the flag -march=x86-64-v3 does not say":             func(s *native.Source) { s.Flags = []string{"-march=x86-64-v3"} },
		"it is in C++ and lays out an argument":              func(s *native.Source) { s.Lang, s.Pack = "c++", &native.Pack{} },
		`its compiler is "/opt/gcc"`:                         func(s *native.Source) { s.Compiler = "/opt/gcc" },
		"want c or c++":                                      func(s *native.Source) { s.Lang = "ada" },
	} {
		s := l.Plain
		change(&s)
		if err := Check(l, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := Check(l, l.Plain); err != nil {
		t.Error(err)
	}
	l.Contents = l.Contents[:1]
	if err := Check(l); err == nil || !strings.Contains(err.Error(), "the contents of 1") {
		t.Error(err)
	}
}
