package library

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tune/kernels/library/choice"
	"tune/kernels/native/nativetest"
	"tune/kernels/rowwise"
)

// rows is a library of the operations of rows whose shapes are multiples: heads that are turned, and blocks of Q8_0.
func rows(t *testing.T) Library {
	t.Helper()
	l := Library{Name: "lines", About: "A test"}
	for _, op := range []string{"rope", "rope-pairwise", "rmsnorm-q8", "swiglu-q8"} {
		shape, dims := "rows=32,cols=64,heads=8", []int64{32, 64, 8}
		if strings.HasSuffix(op, "q8") {
			shape, dims = "rows=32,cols=64", []int64{32, 64}
		}
		s := nativetest.Made(t, rowwise.Fields(), "op="+op+","+shape, nativetest.Here(t), rowwise.NewSpec)
		f := Function{Name: strings.ReplaceAll(op, "-", "_"), Linkage: s.Linkage(), Shapes: [][]int64{dims}, Tree: &choice.Tree{
			Features: choice.Features(len(dims)), Root: &choice.Node{Variant: -1, Threshold: 20, Left: &choice.Node{Variant: 0}, Right: &choice.Node{Variant: 1}},
		}}
		presets := s.Presets()
		for _, p := range presets[max(0, len(presets)-2):] {
			src, err := s.Linked().Generate(p.Point)
			if err != nil {
				t.Fatal(err)
			}
			f.Variants = append(f.Variants, Variant{Source: src, Point: p.Point.String()})
		}
		l.Functions = append(l.Functions, f)
	}
	return l
}

// TestMultiples: functions whose dimensions are multiples of a number, or of each other, are right where these are so. A self-test finds a
// block that is wrong by more than a step, a scale that is wrong, and angles of another token.
func TestMultiples(t *testing.T) {
	l, dir := rows(t), t.TempDir()
	write(t, l, dir)
	out := run(t, dir, "make", "all", "check", "ROUNDS=100", "CFLAGS=-O1 -Wall -Werror")
	for _, f := range l.Functions {
		if !regexp.MustCompile(fmt.Sprintf("lines_%s: v0 [1-9][0-9]+ times, v1 [1-9][0-9]+ times, plain [1-9]", f.Name)).MatchString(out) {
			t.Errorf("not all of %s was called:\n%s", f.Name, out)
		}
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/lines.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"void lines_rope(int64_t rows, int64_t cols, int64_t heads, const float *x, const float *table, float *y);", "void lines_rmsnorm_q8(int64_t rows, int64_t cols, const float *x, const float *w, uint8_t *y);",
		"rows: rows, which are tokens times heads; a multiple of heads", "cols: elements of a row; a multiple of 32", "Where rows is no multiple of heads, nothing is promised.",
	} {
		if !strings.Contains(string(header), want) {
			t.Errorf("no %q in:\n%s", want, header)
		}
	}
	program := "#include <stdio.h>\n#include \"lines.h\"\nint main(void)\n{\n\tfloat x[24] = { 1 }, table[4] = { 1 }, y[24] = { 0 };\n" +
		"\tlines_rope(6, 4, 0, x, table, y);\n\tlines_rope(6, 4, -1, x, table, y);\n\tlines_rope(0, 4, 0, x, table, y);\n\tprintf(\"%g\\n\", y[0]);\n\treturn 0;\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "gcc", "-Iinclude", "-o", "program", "program.c", "liblines.a", "-lm")
	if got := run(t, dir, "./program"); got != "0\n" {
		t.Errorf("tokens without heads: y begins with %s", got)
	}
	for _, test := range []struct{ file, old, new, want string }{
		{"src/rope_v1.c", "row / c->heads", "row / c->heads / 2", "lines_rope v1"},
		{"src/rmsnorm_q8_plain.c", "/ 127", "/ 120", "lines_rmsnorm_q8 v0"},
	} {
		path := filepath.Join(dir, test.file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), test.old) {
			t.Fatalf("%s: %v: no %q in\n%s", test.file, err, test.old, text)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), test.old, test.new)), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := nativetest.Make(t, dir, "check", "CFLAGS=-O0"); err == nil || !strings.Contains(string(out), "FAULT: "+test.want) {
			t.Errorf("%s with %q: %v\n%s", test.file, test.new, err, out)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
