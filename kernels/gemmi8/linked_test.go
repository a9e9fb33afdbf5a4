package gemmi8

import (
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
)

// TestLinked: a program packs the weights by the exported function, and calls the kernel from two threads.
func TestLinked(t *testing.T) {
	g := here(t, "m=5,n=37,k=1001,weights=packed,relu=yes")
	for i, form := range []string{formPacked, formDot} {
		nativetest.Linked(t, g, point(t, g, form, "avx2"), []nativetest.LinkedAs{nativetest.AsLibrary, nativetest.AsProgram}[i])
	}
}

// TestLinkage: code for linking is right at shapes that it was not generated for, with weights in its own layout.
func TestLinkage(t *testing.T) {
	for i, weights := range []string{"f32", "int8", "packed,relu=yes"} {
		shapes := []string{"m=20,n=100,k=300", "m=1,n=7,k=65", "m=37,n=70,k=129"}
		if !nativetest.Stress {
			shapes = []string{shapes[0], shapes[1+i%2]}
		}
		t.Run(weights, func(t *testing.T) {
			nativetest.Linkage(t, func(shape string) *Spec { return here(t, shape+",weights="+weights) }, shapes...)
		})
	}
}

// TestLayouts: panels whose vectors stand apart depend on how many words a vector has.
func TestLayouts(t *testing.T) {
	nativetest.Layouts(t, func(m native.Machine) *Spec { return specOn(t, m, "m=4,n=40,k=70,weights=packed") })
}
