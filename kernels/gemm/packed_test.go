package gemm

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/peers"
	"tune/space"
)

// negated multiplies by weights that were laid out by changing their signs.
const negated = `#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static const float *weights(const float *w, int64_t size) { return w; }
void tune_kernel(void *const *args, const int64_t *dims) {
	const float *a = args[0], *b = weights(args[1], dims[1] * dims[2]);
	float *c = args[2];
	for (int64_t i = 0; i < dims[0]; i++)
		for (int64_t j = 0; j < dims[1]; j++) {
			float sum = 0;
			for (int64_t l = 0; l < dims[2]; l++) sum -= a[i * dims[2] + l] * b[j * dims[2] + l];
			c[i * dims[1] + j] = sum;
		}
}
`

// negate changes the signs of floats.
func negate(_ context.Context, _ []int64, content []byte) ([]byte, error) {
	out := slices.Clone(content)
	for i := 0; i < len(out); i += 4 {
		binary.NativeEndian.PutUint32(out[i:], binary.NativeEndian.Uint32(out[i:])^1<<31)
	}
	return out, nil
}

// TestPacked: the weights of each content are laid out ahead, in checks and in timed calls. A candidate that keeps what it has seen at an
// address is found out.
func TestPacked(t *testing.T) {
	m := nativetest.Here(t)
	spec, err := NewSpec(m, LayoutNT, Dims{M: 3, N: 20, K: 33}, 1)
	if err != nil {
		t.Fatal(err)
	}
	made := func(text string, pack peers.Packer) kernels.Candidate {
		c, err := peers.Packed(nativetest.Host(), spec, spec.Presets()[0].Point, 1, pack, native.Source{Lang: "c", Text: text, Flags: []string{"-O2"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	right := made(negated, negate)
	if err := kernels.Verify(t.Context(), right, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := right.Score(t.Context(), 0); err != nil {
		t.Error(err)
	}
	// Candidates of several problems are compared.
	plain := nativetest.Problem(t, spec)
	baseline, err := plain.Build(t.Context(), spec.Presets()[0].Point)
	if err != nil {
		t.Fatal(err)
	}
	final, err := plain.Compare(t.Context(), baseline, []kernels.Candidate{right}, kernels.Series{Limit: 100 * time.Millisecond})
	if err != nil || final.Comparisons[0].Err != nil || final.Comparisons[0].Pairs == 0 {
		t.Errorf("compared: %+v, %v", final, err)
	}
	keeps := made(strings.Replace(negated, "{ return w; }", `{
	static const float *seen;
	static float *kept;
	static int64_t of;
	if (seen != w || of != size) {
		seen = w;
		of = size;
		kept = realloc(kept, size * sizeof *w);
		memcpy(kept, w, size * sizeof *w);
	}
	return kept;
}`, 1), negate)
	if err := keeps.Check(t.Context(), 1); err != nil {
		t.Fatalf("one content at an address: %v", err)
	}
	if _, err := keeps.Score(t.Context(), 0); kernels.AsRejection(err) == nil {
		t.Errorf("keeping the weights of an address: got %v, want a rejection", err)
	}
	none := made(negated, func(context.Context, []int64, []byte) ([]byte, error) {
		return nil, kernels.Reject(space.Invalid, "no such form")
	})
	if r := kernels.AsRejection(none.Check(t.Context(), 1)); r == nil || r.Status != space.Invalid || r.Reason != "no such form" {
		t.Errorf("a form that there is not: got %v", r)
	}
}
