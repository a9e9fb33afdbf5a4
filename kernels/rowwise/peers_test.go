package rowwise

import (
	"fmt"
	"testing"

	"tune/kernels"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// TestPeers: ggml computes what the operations say, and the others are refused by name.
func TestPeers(t *testing.T) {
	if _, ok := peers.FindGGML(); !ok {
		t.Skip("ggml was not fetched: make peers")
	}
	nativetest.Here(t)
	for _, op := range operations {
		shape := fmt.Sprintf("op=%s,rows=12,cols=64", op.name)
		if op.rope {
			shape = fmt.Sprintf("op=%s,rows=4096,cols=128,heads=32", op.name) // later tokens have larger angles
		}
		s, err := kernels.ParseShape(Fields(), shape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Kernel{Host: nativetest.Host()}.Problem(s)
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.Traits().Peers([]string{"ggml"})
		if op.q8 {
			if err == nil {
				t.Errorf("%s: ggml is no peer of it", op.name)
			}
			continue
		}
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", op.name, found, err)
			continue
		}
		spec, err := NewSpec(s, nativetest.Here(t))
		if err != nil {
			t.Fatal(err)
		}
		if held := spec.forPeers(); held.fast != (op.name == "gelu") {
			t.Errorf("%s: ggml is held to the wide tolerance: %v", op.name, held.fast)
		}
		if err := kernels.Verify(t.Context(), found[0].Candidate, []uint64{1}); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
}
