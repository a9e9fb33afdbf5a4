package gemm

import (
	"testing"

	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// A library that is installed computes what the generated kernels do, in both layouts.
func TestPeersAreRight(t *testing.T) {
	m := nativetest.Here(t)
	found := peers.Find()
	g, ok := peers.FindGGML()
	if len(found) == 0 && !ok {
		t.Skip("no library is installed")
	}
	for _, layout := range []string{LayoutNN, LayoutNT} {
		spec, err := NewSpec(m, layout, Dims{M: 70, N: 45, K: 90}, 2)
		if err != nil {
			t.Fatal(err)
		}
		made, err := native.New(spec, native.Options{Host: nativetest.Host()})
		if err != nil {
			t.Fatal(err)
		}
		problem := made.(*native.Problem)
		for _, threads := range []int{1, 2} {
			right := func(name string, s native.Source) {
				if err := problem.Wrap(s, problem.Presets()[0].Point).Check(t.Context(), 1); err != nil {
					t.Errorf("%s, layout %s, %d threads: %v", name, layout, threads, err)
				}
			}
			for _, p := range found {
				right(p.Name, p.Sgemm(layout == LayoutNT, threads))
			}
			if ok && layout == LayoutNT {
				right("ggml", g.Source(peers.MulMat(peers.F32), peers.Plain, threads))
			}
		}
	}
}
