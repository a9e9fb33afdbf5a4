package rowwise

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
		{"plain", "op=softmax", map[string]any{"code": codePlain}},
		{"softmax", "op=softmax,cols=1000", map[string]any{"code": codeVector, "isa": cgen.AVX512, "lanes": 16, "unroll": 2, "passes": passesUnshifted, "kept": keptBuffer, "interleave": true, "scale": scaleScalef, "tail": tailMasked}},
		{"blocks", "op=rmsnorm-q8,threads=2", map[string]any{"code": codeVector, "isa": cgen.AVX2, "lanes": 8, "unroll": 1, "workers": 2, "start": "spawn"}},
		{"silu", "op=silu,cols=1000", map[string]any{"code": codeVector, "isa": cgen.Generic, "lanes": 4, "unroll": 2, "reciprocal": reciprocalNewton, "stores": storesNT}},
		{"rope", "op=rope-pairwise,rows=64,cols=128,heads=4", map[string]any{"code": codeVector, "isa": cgen.AVX2, "lanes": 8, "unroll": 1, "together": 2, "prefetch": 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nativetest.GoldenText(t, filepath.Join("testdata", test.name+".c"), *update, specOn(t, fullMachine, test.shape), test.values)
		})
	}
}

// TestText: the code of presets and of random points is what it was.
func TestText(t *testing.T) {
	machines := nativetest.Machines()
	var specs []nativetest.Generated
	for _, name := range []string{"arm64", "generic", "avx2", "avx512"} {
		for i, op := range operations {
			shape := "op=" + op.name + []string{",rows=12,cols=96", ",rows=5,cols=1024,threads=3"}[i%2]
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "code"})
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}
