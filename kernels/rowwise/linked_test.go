package rowwise

import (
	"slices"
	"testing"

	"tune/kernels/native/nativetest"
)

// TestLinkage: code for linking is right at shapes that it was not generated for.
func TestLinkage(t *testing.T) {
	// The other operations are like one of these in what a program calls: their buffers and their shapes.
	kinds := []string{"softmax", "add-rmsnorm", "rope", "swiglu", "argmax", "rmsnorm-q8"}
	for i, op := range operations {
		if !slices.Contains(kinds, op.name) && !nativetest.Stress {
			continue
		}
		shapes := []string{"rows=7,cols=100", "rows=1,cols=33", "rows=5,cols=9000"}
		switch {
		case op.rope:
			shapes = []string{"rows=8,cols=64,heads=4", "rows=35,cols=30,heads=7", "rows=3,cols=128"}
		case op.q8:
			shapes = []string{"rows=8,cols=64", "rows=1,cols=96", "rows=33,cols=2048"}
		}
		if !nativetest.Stress {
			shapes = []string{shapes[0], shapes[1+i%2]}
		}
		t.Run(op.name, func(t *testing.T) {
			nativetest.Linkage(t, func(shape string) *Spec { return here(t, "op="+op.name+","+shape) }, shapes...)
		})
	}
}
