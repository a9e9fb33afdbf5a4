package gemm16

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden: the C of these points is read by people.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		name   string
		kind   *Type
		shape  string
		values map[string]any
	}{
		{"plain", Half, "m=4,n=64,k=512,layout=nn,weights=f32", map[string]any{"unit": unitPlain}},
		{"wide", Half, "m=4,n=64,k=512,weights=half", map[string]any{"unit": unitWide, "isa": cgen.F16C, "mr": 2, "nr": 1, "activations": activationsTiles, "pack": packPanel}},
		{"dot", BFloat16, "m=40,n=64,k=512", map[string]any{"unit": unitDot, "mr": 2, "nr": 2, "kc": 256, "panels": panelsApart, "ahead": 512}},
		{"tile", BFloat16, "m=40,n=64,k=512,layout=nn,inputs=half,weights=f32,threads=4", map[string]any{"unit": unitTile, "mr": 2, "nr": 2, "kc": 256, "activations": activationsDirect, "workers": 2}},
		{"beside", BFloat16, "m=40,n=300,k=700,threads=2", map[string]any{"unit": unitTile, "mr": 2, "nr": 2, "kc": 512, "along": alongWithin, "nc": 128, "activations": activationsTiles, "panels": panelsApart, "prepare": prepareBeside, "results": resultsBeside, "order": orderRows, "passing": yes}},
	} {
		t.Run(test.name, func(t *testing.T) {
			nativetest.GoldenText(t, filepath.Join("testdata", test.name+".c"), *update, specOn(t, test.kind, fullMachine, test.shape), test.values)
		})
	}
}

// TestText: the code of presets and of random points is what it was.
func TestText(t *testing.T) {
	machines := nativetest.Machines()
	var specs []nativetest.Generated
	for _, kind := range []*Type{BFloat16, Half} {
		for _, name := range []string{"arm64", "f16c", "avx512", "tiles"} {
			for _, shape := range []string{"", "m=1,n=4096,k=4096,inputs=half", "m=33,n=100,k=301,layout=nn,weights=f32,threads=4"} {
				specs = append(specs, nativetest.Generated{Name: kind.name + " " + name + " " + shape, Spec: specOn(t, kind, machines[name], shape), By: "unit"})
			}
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}

// TestCompiles: the code for every unit and instruction set compiles here, whatever this machine can run.
func TestCompiles(t *testing.T) {
	for _, kind := range []*Type{BFloat16, Half} {
		g := specOn(t, kind, fullMachine, "m=40,n=64,k=512,inputs=half,weights=f32")
		points, own := pointsOf(t, g), specOn(t, kind, nativetest.Here(t), "m=40,n=64,k=512,inputs=half,weights=f32")
		if !nativetest.Stress { // TestForms runs those that this machine can run
			points = slices.DeleteFunc(points, func(p space.Point) bool {
				return slices.Contains(own.units(), p.Str("unit")) && (p.Str("unit") != unitWide || slices.Contains(own.wideSets(), p.Str("isa")))
			})
		}
		nativetest.Compiles(t, g, points)
	}
}
