package surrogate

import (
	"math"
	"testing"

	"tune/space"
)

// TestAligned: random points to begin with have values that 2 divides more often than those of the space, where that
// differs between values that are not powers of two.
func TestAligned(t *testing.T) {
	in, err := space.New("blocks", []space.Parameter{
		space.Stepped("block", 16, 256, 16), space.Pow2("tile", 1, 64), space.Range("unroll", 1, 8),
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := New(in, 1, Config{})
	if err != nil {
		t.Fatal(err)
	}
	mean := func(draw func() (space.Point, error)) (sum float64) {
		const draws = 2000
		for range draws {
			p, err := draw()
			if err != nil {
				t.Fatal(err)
			}
			sum += float64(u.enc.alignment(p)) / draws
		}
		return sum
	}
	random, aligned := mean(func() (space.Point, error) { return in.Sample(u.rng) }), mean(u.aligned)
	// The means of blocks and of unrollings of 1 to 8.
	if want := 4 + 15./16 + 7./8; random < want-0.16 || random > want+0.16 {
		t.Errorf("random points have an alignment of %v, not %v", random, want)
	}
	if aligned < random+1.2 {
		t.Errorf("the points to begin with have an alignment of %v, random ones %v", aligned, random)
	}
	if p := in.Default(); u.enc.alignment(p) != 4 {
		t.Errorf("the alignment of %s is %v", p, u.enc.alignment(p))
	}
}

// TestTogether: values that a float cannot tell apart are told apart by their order.
func TestTogether(t *testing.T) {
	for name, p := range map[string]space.Parameter{
		"large": space.Range("a", 1<<53, 1<<53+1), "small": space.Floats("a", 0, 5e-324), "far": space.Floats("a", -math.MaxFloat64, math.MaxFloat64),
	} {
		in, err := space.New(name, []space.Parameter{p, space.Range("b", 1, 5)})
		if err != nil {
			t.Fatal(err)
		}
		e := newEncoder(in)
		seen := map[float64]bool{}
		for p := range in.All() {
			x := e.encode(p)[0]
			if !(x >= 0 && x <= 1) {
				t.Errorf("%s: the feature of %s is %v", name, p, x)
			}
			seen[x] = true
		}
		if len(seen) != 2 {
			t.Errorf("%s: two values have the features %v", name, seen)
		}
	}
}
