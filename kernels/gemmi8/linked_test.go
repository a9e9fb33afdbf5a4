package gemmi8

import (
	"testing"

	"tune/kernels/native/nativetest"
)

// TestLinked: a program packs the weights by the exported function, and calls the kernel from two threads.
func TestLinked(t *testing.T) {
	g := here(t, "m=5,n=37,k=1001,weights=packed,relu=yes")
	for i, form := range []string{formPacked, formDot} {
		nativetest.Linked(t, g, point(t, g, form, "avx2"), []nativetest.LinkedAs{nativetest.AsLibrary, nativetest.AsProgram}[i])
	}
}
