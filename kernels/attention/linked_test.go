package attention

import (
	"testing"

	"tune/kernels/native/nativetest"
)

// TestLinked: a program calls the kernel from two threads.
func TestLinked(t *testing.T) {
	for _, p := range here(t, "queries=3,context=70,heads=4,kv_heads=2").Presets() {
		if p.Start {
			nativetest.Linked(t, here(t, "queries=3,context=70,heads=4,kv_heads=2"), p.Point, nativetest.AsProgram)
			return
		}
	}
}
