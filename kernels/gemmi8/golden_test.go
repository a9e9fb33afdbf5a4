package gemmi8

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
		{"plain", "m=64,n=64,k=64", map[string]any{"form": formPlain}},
		{"packed", "m=64,n=64,k=1000,relu=yes", map[string]any{"form": formPacked, "isa": cgen.AVX512VNNI, "mr": 2, "nr": 2, "unroll": 2, "kc": 256, "mc": 32, "broadcast": broadcastEmbedded}},
		{"next", "m=20,n=64,k=1000,weights=packed", map[string]any{"form": formPacked, "isa": cgen.AVX512VNNI, "mr": 2, "nr": 2, "kc": 512, "next": yes, "ahead": 1024}},
		{"dot", "m=4,n=64,k=1000,weights=int8", map[string]any{"form": formDot, "isa": cgen.AVX2, "mr": 2, "nr": 2, "unroll": 2, "pack": packNone}},
		{"threads", "m=64,n=64,k=100,weights=packed,threads=4", map[string]any{"form": formPacked, "isa": cgen.Generic, "mr": 2, "nr": 2, "panels": panelsApart, "activations": activationsTiles, "workers": 3, "split": orderRows, "hand_out": "dynamic"}},
		{"tile", "m=40,n=64,k=1000,relu=yes,weights=packed", map[string]any{"form": formTile, "isa": cgen.AMXInt8, "mr": 2, "nr": 2, "kc": 256}},
		{"beside", "m=40,n=300,k=1000,weights=packed", map[string]any{"form": formTile, "isa": cgen.AMXInt8, "mr": 2, "nr": 2, "nc": 128, "activations": activationsTiles, "panels": panelsApart, "prepare": prepareBeside, "results": resultsBeside, "order": orderRows, "passing": yes}},
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
	for _, name := range []string{"arm64", "generic", "avx2", "avxvnni", "avx512", "avx512vnni", "tiles"} {
		for _, shape := range []string{"m=512,n=512,k=512", "m=70,n=90,k=1300,relu=yes,weights=int8,threads=4", "m=600,n=41,k=5000,weights=packed,threads=2", "m=1,n=300,k=77,weights=int8"} {
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "form"})
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}
