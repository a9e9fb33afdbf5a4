package attention

import (
	"flag"
	"path/filepath"
	"testing"

	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden: the C of these points is read by people.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		name, shape string
		values      map[string]any
	}{
		{"tiles", "queries=64,context=128,heads=4,kv_heads=2,head=80,kv=bf16,accuracy=bf16,threads=2", map[string]any{"form": formTiles, "row_tiles": 2, "key_tile": 64, "workers": 2}},
		{"plain", "context=512,heads=8,kv_heads=2,head=64", map[string]any{"form": formPlain}},
		{"decode", "context=512,heads=8,kv_heads=2,head=64", map[string]any{"form": formOnline, "isa": cgen.F16C, "lanes": 8, "keys": layoutRows, "values": layoutRows, "rows": 2, "dots": 4, "columns": 2, "prefetch": 16}},
		{"prompt", "queries=128,context=128,heads=8,kv_heads=8,head=64,kv=f32", map[string]any{"form": formOnline, "isa": cgen.AVX512, "lanes": 16, "keys": layoutPanels, "vectors": 2, "values": layoutPanels, "rows": 4, "columns": 3, "unroll": 2}},
		{"stored", "queries=3,context=512,heads=4,kv_heads=4,head=32,kv=bf16,threads=2", map[string]any{"form": formNaive, "isa": cgen.Generic, "lanes": 4, "keys": layoutPanels, "vectors": 1, "values": layoutRows, "packing": packHead, "rows": 2, "columns": 1, "workers": 2, "split": splitHeads}},
		{"parts", "context=512,heads=2,kv_heads=1,head=16,threads=2", map[string]any{"form": formOnline, "isa": cgen.AVX2, "lanes": 8, "keys": layoutRows, "values": layoutRows, "rows": 1, "dots": 2, "columns": 1, "workers": 2, "split": splitContext}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nativetest.GoldenText(t, filepath.Join("testdata", test.name+".c"), *update, specOn(t, tileMachine, test.shape), test.values)
		})
	}
}

// TestText: the code of presets and of random points is what it was.
func TestText(t *testing.T) {
	machines := nativetest.Machines()
	var specs []nativetest.Generated
	for _, name := range []string{"arm64", "generic", "avx2", "f16c", "avx512"} {
		for _, shape := range []string{"context=700", "queries=300,context=300,heads=12,kv_heads=4,head=80,kv=f32", "queries=2,context=5000,heads=7,kv_heads=1,head=64,kv=bf16,threads=4", "queries=50,context=40,heads=3,kv_heads=3,head=72,causal=no,accuracy=fast,threads=2"} {
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "form"})
		}
	}
	for _, name := range []string{"avx512", "tiles"} {
		for _, shape := range []string{"queries=300,context=300,heads=12,kv_heads=4,head=80,kv=bf16,accuracy=bf16", "queries=2,context=5000,heads=7,kv_heads=1,head=64,kv=bf16,accuracy=bf16,threads=4"} {
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "form"})
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}
