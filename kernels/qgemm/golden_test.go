package qgemm

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
		name, shape string
		values      map[string]any
	}{
		{"plain", "m=4,n=64,k=512,format=q4_k", map[string]any{"form": formPlain}},
		{"panels", "m=4,n=64,k=512,format=q8_0", map[string]any{"form": formPanels, "isa": cgen.AVX512VNNI, "mr": 2, "nr": 1, "ahead": 512}},
		{"next", "m=32,n=64,k=512,format=q4_0", map[string]any{"form": formPanels, "isa": cgen.AVX512VNNI, "mr": 8, "nr": 2, "next": yes}},
		{"sixbits", "m=4,n=64,k=512,format=q6_k,threads=4", map[string]any{"form": formPanels, "isa": cgen.F16C, "mr": 1, "nr": 2, "nest": nestGroups, "scaling": scalingBlocks, "workers": 3, "split": orderRows, "hand_out": "dynamic"}},
		{"minima", "m=40,n=64,k=512,format=q5_k", map[string]any{"form": formPanels, "isa": cgen.AVXVNNI, "mr": 1, "nr": 1, "chains": 2, "mc": 16, "order": orderRows}},
		{"rows", "m=4,n=64,k=512,format=q5_0", map[string]any{"form": formRows, "isa": cgen.AVX512VNNI, "mr": 2, "nr": 2}},
		{"tiles", "m=16,n=64,k=512,format=q6_k", map[string]any{"form": formPanels, "isa": cgen.AMXInt8, "mr": 1, "nr": 1}},
		{"tilesahead", "m=40,n=64,k=512,format=q4_0", map[string]any{"form": formPanels, "isa": cgen.AMXInt8, "mr": 1, "nr": 1, "overlap": yes, "unpack": unpackPanel}},
		{"digits", "m=40,n=200,k=1024,format=q4_k", map[string]any{"form": formPanels, "isa": cgen.AMXInt8, "mr": 1, "nr": 1, "unpack": unpackDigits, "kc": 512, "nc": 128}},
		{"wholerows", "m=4,n=64,k=512,format=q5_k", map[string]any{"form": formRows, "isa": cgen.F16C, "mr": 1, "nr": 1}},
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
	for _, name := range []string{"arm64", "f16c", "avxvnni", "avx512vnni"} {
		for _, shape := range []string{"", "m=512,format=q4_k", "m=33,n=100,k=256,format=q6_k,threads=4", "m=4,format=q5_1,repack=no"} {
			specs = append(specs, nativetest.Generated{Name: name + " " + shape, Spec: specOn(t, machines[name], shape), By: "form"})
		}
	}
	nativetest.Golden(t, "testdata/text.txt", *update, specs)
}

// TestCompiles: the code for the instruction sets that this machine lacks compiles too.
func TestCompiles(t *testing.T) {
	own := nativetest.Here(t)
	for i, name := range formatNames() {
		g := specOn(t, fullMachine, "m=4,n=64,k=256,format="+name)
		var points []space.Point
		for _, in := range instructionSets(fullMachine) {
			if slices.Contains(own.ISAs, in.Name) {
				continue
			}
			p, err := g.Space().Make(map[string]any{"form": formPanels, "isa": in.Name, "mr": 2, "nr": 2, "opt": "O2"})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := g.Space().Make(map[string]any{"form": formRows, "isa": in.Name, "mr": 2, "nr": 2, "opt": "O2"})
			if err != nil {
				t.Fatal(err)
			}
			if nativetest.Stress {
				points = append(points, p, rows)
			} else { // the forms take turns
				points = append(points, []space.Point{p, rows}[i%2])
			}
		}
		nativetest.Compiles(t, g, points)
	}
}
