package qgemm

import (
	"testing"

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
