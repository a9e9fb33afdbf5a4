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
		"queries=5,context=33,heads=4,kv_heads=1,head=64,kv=bf16", "queries=5,context=33,heads=2,kv_heads=1,head=64,kv=bf16,accuracy=bf16",
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

// TestPeerTolerances: a library has room only for the rounding that its form of attention does.
func TestPeerTolerances(t *testing.T) {
	for kv, want := range map[string][2]float64{kvF32: {1e-4, 1e-4}, kvF16: {1e-2, 2e-3}, kvBF16: {1e-2, 1e-2}} {
		onePass, byScores := (&Spec{kv: kv, accuracy: accuracyFast}).forPeers()
		if got := [2]float64{tolerances[onePass.accuracy], tolerances[byScores.accuracy]}; got != want {
			t.Errorf("%s: one pass and all scores are held to %v, want %v", kv, got, want)
		}
	}
}
