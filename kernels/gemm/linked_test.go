package gemm

import (
	"testing"

	"tune/kernels/native/nativetest"
)

// TestLinked: a program calls the kernel from two threads, with its packed operands on the stack and elsewhere, and with helpers of its own.
func TestLinked(t *testing.T) {
	m := host(t)
	for _, test := range []struct {
		d       Dims
		workers int
	}{{Dims{20, 30, 40}, 1}, {Dims{120, 130, 140}, 1}, {Dims{120, 130, 140}, 2}} {
		s := newTestSpec(t, m, LayoutNN, test.d, 2)
		values := map[string]any{"form": FormTiled, "pack_x": true, "pack_y": true, "workers": test.workers}
		p, err := s.Space().Make(values)
		if err != nil {
			t.Fatal(err)
		}
		nativetest.Linked(t, s, p, nativetest.AsLibrary)
	}
}
