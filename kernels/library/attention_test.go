package library

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels/attention"
	"tune/kernels/library/choice"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestAttention: each form and type of keys is a function of a library whose self-test passes, with caches that have room for more, and a
// variant that takes the context for that room is found.
func TestAttention(t *testing.T) {
	m := native.Machine{ISAs: []string{"generic", "avx2", "f16c", "avx512"}, Compilers: nativetest.Here(t).Compilers[:1], Arch: nativetest.Here(t).Arch}
	l := Library{Name: "heads", About: "A test"}
	rows := map[string]any{"form": "online", "isa": "f16c", "lanes": 8, "keys": "rows", "values": "rows", "rows": 2, "dots": 3, "columns": 1, "key_tile": 32}
	panels := map[string]any{"form": "online", "isa": "avx2", "lanes": 8, "keys": "panels", "vectors": 1, "values": "panels", "packing": "head", "rows": 3, "columns": 2, "key_tile": 32}
	parts := map[string]any{"form": "naive", "isa": "generic", "lanes": 4, "keys": "rows", "dots": 2, "values": "rows", "rows": 1, "columns": 2, "workers": 2, "split": "context", "parts": 3}
	for _, f := range []struct {
		name, shape string
		values      map[string]any
	}{
		{"half", "queries=5,context=100,heads=6,kv_heads=2,head=24", rows},
		{"single", "queries=40,context=50,heads=4,kv_heads=4,head=16,kv=f32,causal=no", panels},
		{"brain", "queries=3,context=90,heads=2,kv_heads=1,head=8,kv=bf16,accuracy=fast,threads=2", parts},
	} {
		s := nativetest.Made(t, attention.Fields(), f.shape, m, attention.NewSpec)
		values := maps.Clone(f.values)
		values["compiler"] = m.Compilers[0]
		point, err := s.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Linked().Generate(point)
		if err != nil {
			t.Fatal(err)
		}
		l.Functions = append(l.Functions, Function{
			Name: f.name, Linkage: s.Linkage(), Variants: []Variant{{Source: src, Point: point.String()}}, Tree: &choice.Tree{Root: &choice.Node{}}, Shapes: [][]int64{{5, 100}},
		})
	}
	dir := t.TempDir()
	write(t, l, dir)
	if out := run(t, dir, "make", "check", "ROUNDS=50", "CFLAGS=-O0"); !strings.Contains(out, "all right") || strings.Contains(out, ": v0 0 times, plain 50") {
		t.Errorf("%s", out)
	}
	header, err := os.ReadFile(filepath.Join(dir, "include/heads.h"))
	const want = "void heads_half(int64_t queries, int64_t context, const float *q, const uint16_t *k, const uint16_t *v, float *out, int64_t stride);"
	if err != nil || !strings.Contains(string(header), want) || !strings.Contains(string(header), " * Where out has no element, nothing is read or written. Where context is 0, ") {
		t.Errorf("%v\n%s", err, header)
	}
	path := filepath.Join(dir, "src/half_v0.c")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "UNITS * c->stride", "UNITS * c->context", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := nativetest.Make(t, dir, "check", "ROUNDS=50", "CFLAGS=-O0"); err == nil || !strings.Contains(string(out), "FAULT: heads_half v0 at ") {
		t.Errorf("%v\n%s", err, out)
	}
}
