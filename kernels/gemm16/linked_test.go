package gemm16

import (
	"testing"

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
