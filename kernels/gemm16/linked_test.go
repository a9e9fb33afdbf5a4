package gemm16

import (
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestLinked: a program packs B by the exported function, and calls the kernel from two threads.
func TestLinked(t *testing.T) {
	g := here(t, BFloat16, "m=5,n=70,k=601,layout=nn,threads=2")
	if len(g.wideSets()) == 0 {
		t.Skip("this machine has no instructions for packed operands")
	}
	for _, p := range g.Presets()[len(g.Presets())-1:] {
		nativetest.Linked(t, g, p.Point, nativetest.AsProgram)
	}
	h := here(t, Half, "m=5,n=70,k=601")
	for i, values := range []map[string]any{{"mr": 4, "nr": 2, "panels": panelsApart}, {"mr": 2, "nr": 1, "activations": activationsTiles}} {
		values["unit"], values["isa"] = unitWide, h.wideSets()[len(h.wideSets())-1]
		nativetest.Linked(t, h, made(t, h, values), []nativetest.LinkedAs{nativetest.AsLibrary, nativetest.AsProgram}[i])
	}
}

// TestLinkage: code for linking is right at shapes that it was not generated for, with B in its own layout.
func TestLinkage(t *testing.T) {
	for i, test := range []struct {
		of   *Type
		form string
	}{{BFloat16, "layout=nt"}, {BFloat16, "layout=nn,weights=half,inputs=half"}, {Half, "layout=nn"}, {Half, "layout=nt,weights=f32"}} {
		shapes := []string{"m=20,n=100,k=300", "m=1,n=7,k=65", "m=37,n=70,k=129"}
		if !nativetest.Stress {
			shapes = []string{shapes[0], shapes[1+i%2]}
		}
		t.Run(test.of.name+" "+test.form, func(t *testing.T) {
			nativetest.Linkage(t, func(shape string) *Spec { return here(t, test.of, shape+","+test.form) }, shapes...)
		})
	}
}

// TestLayouts: the name of a layout says all of it.
func TestLayouts(t *testing.T) {
	nativetest.Layouts(t, func(m native.Machine) *Spec { return specOn(t, BFloat16, m, "m=4,n=40,k=70,weights=packed") })
}
