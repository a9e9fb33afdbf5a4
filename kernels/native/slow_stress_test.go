//go:build stress

package native_test

import (
	"testing"

	"tune/kernels/native"
)

// damages is how often a candidate damages the heap.
const damages = 24

// TestSlow: a call over a second is made as rarely as possible, and marked.
func TestSlow(t *testing.T) {
	spec := newPoly(t, 10_000_000)
	p, err := native.New(spec, native.Options{Host: testHost(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := score(t, p.(*native.Problem), spec.point(t, "plain", 512))
	if m["cost"] < 1e9 {
		t.Fatalf("a call takes %v ns, which is not slow", m["cost"])
	}
	if m["samples"] != 1 || m["unverified"] != 1 {
		t.Errorf("a slow call gave %v", m)
	}
}
