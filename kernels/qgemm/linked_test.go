package qgemm

import (
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestLinked: a program packs the weights by the exported function, and calls the kernel from two threads.
func TestLinked(t *testing.T) {
	const shape = "m=5,n=37,k=1024,format=q6_k"
	g := here(t, shape)
	if len(instructionSets(g.machine)) == 0 {
		t.Skip("this machine has no instructions for panels")
	}
	for _, p := range g.Presets() {
		switch p.Name {
		case "panels":
			nativetest.Linked(t, g, p.Point, nativetest.AsProgram)
			nativetest.Linked(t, g, p.Point, nativetest.AsLibrary)
		case "rows":
			nativetest.Linked(t, g, p.Point, nativetest.AsLibrary)
		}
	}
}

// TestLinkage: code for linking is right at shapes that it was not generated for, with weights in its own layout.
func TestLinkage(t *testing.T) {
	for i, format := range []string{"q5_1", "q8_0", "q4_k", "q4_0", "q6_k"} {
		if i >= 3 && !nativetest.Stress {
			break // each kind of block was there
		}
		t.Run(format, func(t *testing.T) {
			nativetest.Linkage(t, func(shape string) *Spec { return here(t, shape+",format="+format) }, "m=20,n=100,k=1024", "m=1,n=7,k=256", "m=37,n=33,k=512")
		})
	}
}

// TestUnknownLayout: code for a layout that no point takes is no code of this shape.
func TestUnknownLayout(t *testing.T) {
	problem := nativetest.Problem(t, here(t, "m=2,n=8,k=32").Linked())
	pack := &native.Pack{Name: "another one"}
	pack.Argument = "w"
	if _, err := problem.PointOf(native.Source{Pack: pack}); err == nil || err.Error() != "no point takes argument w as another one" {
		t.Error(err)
	}
}

// TestLayouts: the name of a layout says all of it.
func TestLayouts(t *testing.T) {
	for _, format := range []string{"q8_0", "q4_k"} {
		nativetest.Layouts(t, func(m native.Machine) *Spec { return specOn(t, m, "m=4,n=40,k=512,format="+format) })
	}
}
