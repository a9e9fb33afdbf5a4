package attention

import (
	"testing"

	"tune/kernels"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// TestPeers: ggml computes the same in both of its forms, for each type of keys and values.
func TestPeers(t *testing.T) {
	if _, ok := peers.FindGGML(); !ok {
		t.Skip("ggml was not fetched: make peers")
	}
	nativetest.Here(t)
	for _, shape := range []string{
		"queries=1,context=70,heads=4,kv_heads=2,head=64,kv=f16", "queries=9,context=40,heads=2,kv_heads=2,head=64,kv=f32,causal=yes",
		"queries=5,context=33,heads=4,kv_heads=1,head=64,kv=bf16",
	} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Kernel{Host: nativetest.Host()}.Problem(s)
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.Traits().Peers(nil)
		if err != nil || len(found) != 2 {
			t.Fatalf("%v, %v", found, err)
		}
		for _, peer := range found {
			if err := kernels.Verify(t.Context(), peer.Candidate, []uint64{1}); err != nil {
				t.Errorf("%s: %s: %v", shape, peer.Name, err)
			}
		}
	}
}
