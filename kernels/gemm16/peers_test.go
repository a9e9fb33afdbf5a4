package gemm16

import (
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
)

// problemOf returns the problem of a shape.
func problemOf(t *testing.T, kind *Type, shape string) kernels.Problem {
	t.Helper()
	kernel := Kernel{Type: kind, Host: nativetest.Host()}
	s, err := kernels.ParseShape(Fields(), shape)
	if err != nil {
		t.Fatal(err)
	}
	p, err := kernel.Problem(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPeers: the libraries that are here compute the same, whatever the form of the operands; timed calls are verified too.
func TestPeers(t *testing.T) {
	nativetest.Here(t)
	for i, test := range []struct {
		kind  *Type
		shape string
		want  []string // without those that a processor may lack
	}{
		{BFloat16, "m=5,n=64,k=256", []string{"dnnl", "ggml"}},
		{BFloat16, "m=33,n=45,k=128,inputs=half,weights=half", []string{"dnnl", "ggml"}},
		{BFloat16, "m=7,n=45,k=90,layout=nn,weights=f32", []string{"dnnl"}},
		{BFloat16, "m=1,n=96,k=90,layout=nn,inputs=half", []string{"dnnl"}},
		{Half, "m=5,n=64,k=256", []string{"ggml"}},
		{Half, "m=2,n=45,k=128,inputs=half,weights=half", []string{"ggml"}},
	} {
		list, err := problemOf(t, test.kind, test.shape).Traits().Peers(nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, peer := range list {
			if !peer.Optional {
				names = append(names, peer.Name)
			}
			if peer.Candidate == nil {
				t.Logf("%s is not here", peer.Name)
				continue
			}
			err := kernels.Verify(t.Context(), peer.Candidate, []uint64{1, 2})
			if r := kernels.AsRejection(err); peer.Optional && r != nil {
				t.Logf("%s %s: %s: %s", test.kind.name, test.shape, peer.Name, r.Reason)
				continue
			}
			if err == nil && i == 0 {
				_, err = peer.Candidate.Score(t.Context(), 0)
			}
			if err != nil {
				t.Errorf("%s %s: %s: %v", test.kind.name, test.shape, peer.Name, err)
			}
			t.Logf("%s %s: %s: %+v", test.kind.name, test.shape, peer.Name, peer.Candidate.Abilities().Deviation())
		}
		if !slices.Equal(names, test.want) && (test.kind == Half || len(names) != len(test.want)-1) { // oneDNN is unfit on some processors
			t.Errorf("%s %s: got %v, want %v", test.kind.name, test.shape, names, test.want)
		}
	}
}

// TestUnfit: a library that is named and cannot compute the product says why.
func TestUnfit(t *testing.T) {
	nativetest.Here(t)
	if _, ok := peers.FindGGML(); !ok {
		t.Skip("ggml was not fetched: make peers")
	}
	for shape, want := range map[string]string{"layout=nn": "say layout=nt", "weights=f32": "say weights=half"} {
		if _, err := problemOf(t, BFloat16, "m=3,n=5,k=7,"+shape).Traits().Peers([]string{"ggml"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", shape, err, want)
		}
	}
	if _, err := problemOf(t, Half, "m=3,n=5,k=7").Traits().Peers([]string{"dnnl"}); err == nil || !strings.Contains(err.Error(), "half precision") {
		t.Errorf("%v, want an error that names half precision", err)
	}
}
