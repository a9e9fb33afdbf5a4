package library

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels/gemm"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// variant returns a kernel of the product that is tuned for a shape.
func variant(t *testing.T, d gemm.Dims, values map[string]any) (Variant, native.Linkage) {
	t.Helper()
	m := native.Machine{ISAs: []string{"generic", "avx2", "avx512"}, Compilers: nativetest.Here(t).Compilers[:1]}
	s, err := gemm.NewSpec(m, gemm.LayoutNN, d, 2)
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
	few, linkage := variant(t, gemm.Dims{M: 2, N: 90, K: 70}, map[string]any{"form": "skinny", "isa": "generic", "vec": 16, "workers": 1})
	wide, _ := variant(t, gemm.Dims{M: 50, N: 47, K: 33}, map[string]any{"form": "tiled", "isa": "avx512", "fixed": true, "workers": 1, "pack_x": true})
	two, _ := variant(t, gemm.Dims{M: 120, N: 130, K: 140}, map[string]any{"form": "tiled", "isa": "avx2", "vec": 32, "mr": 4, "workers": 2, "pack_y": true})
	leaf := func(v int) *choice.Node { return &choice.Node{Variant: v} }
	tree := &choice.Tree{Features: choice.Features(3), Root: &choice.Node{
		Variant: -1, Feature: 0, Threshold: 4, Left: leaf(0),
		Right: &choice.Node{Variant: -1, Feature: 6, Threshold: 1 << 17, Left: leaf(1), Right: leaf(2)},
	}}
	return Library{Name: name, About: "A test", Manifest: []byte("{}\n"), Functions: []Function{{
		Name: "gemm", About: "C = A·B", Linkage: linkage, Variants: []Variant{few, wide, two}, Tree: tree,
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
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	return c
}

// run runs a command, which must not fail, and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := tool(t, dir, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
