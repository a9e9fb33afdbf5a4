package library

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/gemm16"
	"tune/kernels/gemmi8"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/qgemm"
)

// family is a family whose code programs can call.
type family interface {
	native.Spec
	native.Linker
}

// packs is a function of a library with the presets of a shape, all but the baseline, as variants. The tree takes them in turn, by m.
func packs(t *testing.T, name string, s family, shape []int64) Function {
	t.Helper()
	f := Function{Name: name, Linkage: s.Linkage(), Shapes: [][]int64{shape}}
	for _, p := range s.Presets()[1:] {
		src, err := s.Linked().Generate(p.Point)
		if err != nil {
			t.Fatal(err)
		}
		f.Variants = append(f.Variants, Variant{Source: src, Point: p.Point.String()})
	}
	last := len(f.Variants) - 1
	node := &choice.Node{Variant: last}
	for v := last - 1; v >= 0; v-- {
		node = &choice.Node{Variant: -1, Threshold: float64(8 * (v + 1)), Left: &choice.Node{Variant: v}, Right: node}
	}
	f.Tree = &choice.Tree{Features: choice.Features(3), Root: node}
	return f
}

// quantised is the product with weights in a format on this machine.
func quantised(t *testing.T, shape string) *qgemm.Spec {
	t.Helper()
	return nativetest.Made(t, qgemm.Fields(), shape, nativetest.Here(t), qgemm.NewSpec)
}

// TestPacked: programs lay out weights ahead, in the layouts that the variants take, and keep them as they are where a variant takes them so
// or cannot run.
func TestPacked(t *testing.T) {
	l := Library{Name: "packs", About: "A test"}
	formats := []string{"q8_0", "q5_k"}
	for _, format := range formats {
		l.Functions = append(l.Functions, packs(t, format, quantised(t, "m=20,n=37,k=512,format="+format), []int64{20, 37, 512}))
	}
	l.Functions = append(l.Functions, packs(t, "rows", quantised(t, "m=20,n=37,k=512,format=q4_0,repack=no"), []int64{20, 37, 512}))
	if l.Functions[0].packedArray() < 0 {
		t.Skip("this machine has no instructions for panels")
	}
	dir, prefix := t.TempDir(), filepath.Join(t.TempDir(), "prefix")
	write(t, l, dir)
	out := run(t, dir, "make", "all", "check", "install", "PREFIX="+prefix, "ROUNDS=60", "CFLAGS=-O1 -Wall -Werror")
	for _, format := range formats {
		for v := range l.function(t, format).Variants {
			if !regexp.MustCompile(fmt.Sprintf("packs_%s:.* v%d [1-9][0-9]* times", format, v)).MatchString(out) {
				t.Errorf("v%d of %s was not chosen:\n%s", v, format, out)
			}
		}
		if !regexp.MustCompile(fmt.Sprintf("packs_%s, without fma.*: v0 0 times.* plain [1-9]", format)).MatchString(out) {
			t.Errorf("without features %s does not take the plain form:\n%s", format, out)
		}
	}
	if !strings.Contains(out, "\nall right\n") {
		t.Error(out)
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/packs.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"void packs_q5_k_pack(int64_t n, int64_t k, const uint8_t *W, uint8_t *packed);", "int64_t packs_q5_k_packed_bytes(int64_t n, int64_t k);",
		"void packs_rows(int64_t m, int64_t n, int64_t k, const float *A, const uint8_t *W, float *C);", "k: columns of A, and weights of a row of W; a multiple of 256",
	} {
		if !strings.Contains(string(header), want) {
			t.Errorf("no %q in:\n%s", want, header)
		}
	}
	if strings.Contains(string(header), "packs_rows_pack") {
		t.Errorf("weights that no variant takes laid out are laid out:\n%s", header)
	}
	out = run(t, dir, "make", "bench", "SHAPES=packs_q8_0 3x20x64")
	if !strings.Contains(out, "packs_q8_0 3x20x64: ") {
		t.Error(out)
	}
	callers(t, l.Functions[0], filepath.Join(dir, "libpacks.so"))
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range [][]string{{"c", "example.c", "gcc"}, {"cpp", "example.cc", "g++"}} {
		at := t.TempDir()
		if err := os.WriteFile(filepath.Join(at, test[1]), []byte(snippet(t, string(text), test[0], "")), 0o666); err != nil {
			t.Fatal(err)
		}
		run(t, at, test[2], "-Wall", "-Werror", "-o", "example", test[1], "-I"+prefix+"/include", prefix+"/lib/libpacks.a", "-lm", "-pthread")
		run(t, at, "./example")
	}
	t.Run("faults", func(t *testing.T) { faults(t, l, dir) })
}

// callers: the code that calls a function finds what each of its variants takes behind other layouts.
func callers(t *testing.T, f Function, shared string) {
	layouts := map[int]bool{}
	for v := range f.Variants {
		m := min(8*(v+1), 8*(len(f.Variants)-1)+1) // at which the tree takes it
		p := nativetest.Problem(t, quantised(t, fmt.Sprintf("m=%d,n=37,k=96,format=q8_0", m)))
		source, err := Library{Name: "packs", Functions: []Function{f}}.Caller(shared, v, []int64{int64(m), 37, 96})
		if err != nil {
			t.Fatal(err)
		}
		point, err := p.PointOf(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := kernels.Verify(t.Context(), p.Wrap(source, point), []uint64{3}); err != nil {
			t.Errorf("v%d at m=%d: %v", v, m, err)
		}
		layouts[strings.Count(source.Text, "caller_before +=")] = true
	}
	if len(layouts) < 2 {
		t.Error("all variants take the first layout")
	}
}

// TestPackedExact: results in integers are the same to the last bit, whatever the form of the weights.
func TestPackedExact(t *testing.T) {
	l := Library{Name: "exact", About: "A test"}
	for _, weights := range []string{"packed", "int8", "f32"} {
		s := nativetest.Made(t, gemmi8.Fields(), "m=20,n=37,k=300,relu=yes,weights="+weights, nativetest.Here(t), gemmi8.NewSpec)
		l.Functions = append(l.Functions, packs(t, weights, s, []int64{20, 37, 300}))
	}
	dir := t.TempDir()
	write(t, l, dir)
	out := run(t, dir, "make", "all", "check", "ROUNDS=60", "CFLAGS=-O0 -Wall -Werror")
	for _, want := range []string{"exact_packed: v0 [1-9].* v1 [1-9].*error 0 of", "exact_int8: v0 [1-9].*error 0 of", "exact_f32: v0 [1-9].*error 0 of", "all right"} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/exact.h"))
	if err != nil || !strings.Contains(string(header), "void exact_packed_pack(int64_t n, int64_t k, const int8_t *W, int8_t *packed);") || strings.Contains(string(header), "exact_int8_pack") {
		t.Errorf("%v\n%s", err, header)
	}
}

// TestPackedHalves: products of 16 bits, whose elements the self-test draws as numbers.
func TestPackedHalves(t *testing.T) {
	l := Library{Name: "halves", About: "A test"}
	for name, of := range []*gemm16.Type{gemm16.BFloat16, gemm16.Half} {
		for _, form := range []string{"layout=nt,inputs=half", "layout=nn,weights=half"} {
			s := nativetest.Made(t, gemm16.Fields(), "m=20,n=37,k=300,"+form, nativetest.Here(t), func(s kernels.Shape, m native.Machine) (*gemm16.Spec, error) { return gemm16.NewSpec(of, s, m) })
			l.Functions = append(l.Functions, packs(t, fmt.Sprintf("f%d_%s", name, form[7:9]), s, []int64{20, 37, 300}))
		}
	}
	dir := t.TempDir()
	write(t, l, dir)
	out := run(t, dir, "make", "all", "check", "ROUNDS=60", "CFLAGS=-O0 -Wall -Werror")
	for _, f := range l.Functions {
		if !regexp.MustCompile("halves_" + f.Name + ": v0 [1-9].* plain [1-9]").MatchString(out) {
			t.Errorf("not all of %s was called:\n%s", f.Name, out)
		}
	}
	if !strings.Contains(out, "\nall right\n") {
		t.Error(out)
	}
}

// function returns a function of a library.
func (l Library) function(t *testing.T, name string) Function {
	t.Helper()
	for _, f := range l.Functions {
		if f.Name == name {
			return f
		}
	}
	t.Fatal(name)
	return Function{}
}

// faults: the self-test finds a layout that is wrong, and one that is not the variant's. Other layouts at other places are right.
func faults(t *testing.T, l Library, dir string) {
	last := len(l.function(t, "q8_0").Variants) - 1
	for _, test := range []struct {
		file, old, new string
		fault          bool
	}{
		{fmt.Sprintf("src/q8_0_v%d.c", last), "scales + 2 * row", "scales + 2 * (row ^ 1)", true},
		{"src/dispatch.c", "tune_at += ", "tune_at += 64 + ", false},
		{"src/dispatch.c", "tune_layout = tune_choice < 0 ? 0 : ", "tune_layout = tune_choice < 0 ? 1 : ", true},
	} {
		path := filepath.Join(dir, test.file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), test.old) {
			t.Fatal(err, test.old)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), test.old, test.new)), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := nativetest.Make(t, dir, "check", "ROUNDS=30", "CFLAGS=-O0")
		if found := strings.Contains(string(out), "FAULT: packs_"); (err != nil) != test.fault || found != test.fault {
			t.Errorf("%s with %q: %v\n%s", test.file, test.new, err, out)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
