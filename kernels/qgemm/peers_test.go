package qgemm

import (
	"testing"

	"tune/kernels"
	"tune/kernels/native"
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

// TestPeerTolerance: ggml's rounding of scales, up to 2⁻¹¹, is let through, and an error of 0.3 % of what is added up is not.
func TestPeerTolerance(t *testing.T) {
	s, err := kernels.ParseShape(Fields(), "m=3,n=16,k=64,format=q4_0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewSpec(s, fullMachine)
	if err != nil {
		t.Fatal(err)
	}
	spec := peerSpec{g}
	list, err := spec.Cases(t.Context(), g.Presets()[0].Point, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := g.drawnOf(&g.inputs, 1)
	if err != nil {
		t.Fatal(err)
	}
	for share, want := range map[float64]bool{0x1p-11: true, 3e-3: false} {
		var c []float32
		for i := range 3 {
			for _, r := range d.want.known.Rows[i] {
				c = append(c, float32(r.Value+share*r.Size))
			}
		}
		buffers := make([][]byte, len(list[0].Buffers))
		buffers[len(buffers)-1] = native.AsBytes(c)
		if _, err := list[0].Verify(buffers); (err == nil) != want {
			t.Errorf("results that are off by %g of what is added up: %v", share, err)
		}
	}
}
