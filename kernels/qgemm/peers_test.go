package qgemm

import (
	"testing"

	"tune/kernels"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// TestPeers: ggml computes the same as the reference, within its own rounding, however it keeps the weights; where it lacks a way, that is
// no fault.
func TestPeers(t *testing.T) {
	if _, ok := peers.FindGGML(); !ok {
		t.Skip("ggml was not fetched: make peers")
	}
	nativetest.Here(t)
	for _, shape := range []string{"m=3,n=64,k=512,format=q4_0", "m=1,n=48,k=512,format=q6_k"} {
		s, err := kernels.ParseShape(Fields(), shape)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Kernel{Host: nativetest.Host()}.Problem(s)
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.Traits().Peers(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, peer := range found {
			err := kernels.Verify(t.Context(), peer.Candidate, []uint64{1})
			if err != nil && (i == 0 || !peer.Optional) {
				t.Errorf("%s: %s: %v", shape, peer.Name, err)
			}
		}
	}
}
