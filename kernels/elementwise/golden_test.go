package elementwise

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
		{"plain", "op=relu,n=5000", map[string]any{"code": codePlain, "unroll_loops": true}},
		{"map", "op=sqdiff,n=5000", map[string]any{"code": codeVector, "isa": cgen.AVX512, "lanes": 16, "unroll": 2, "streams": 4, "skew": 5, "prefetch": 8, "stores": storesNT, "tail": tailMasked}},
		{"sum", "op=distance,n=5000", map[string]any{"code": codeVector, "isa": cgen.AVX2, "lanes": 8, "unroll": 3}},
		{"threads", "op=dot,n=5000,arrays=3,threads=4", map[string]any{"code": codeVector, "isa": cgen.Generic, "lanes": 4, "unroll": 1, "workers": 4, "split": splitElements, "rest": restSpread, "start": "spawn"}},
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
		for _, shape := range []string{"op=relu,n=5000", "op=mul,n=100000,threads=4", "op=add,n=33,arrays=5", "op=sqdiff,n=900,arrays=2,threads=3", "op=dot,n=4099,arrays=3,threads=4", "op=distance,n=70000"} {
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "code"})
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}
