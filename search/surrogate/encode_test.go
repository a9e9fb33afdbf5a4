package surrogate

import (
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
			sum += u.enc.alignment(p) / draws
		}
		return sum
	}
	random, aligned := mean(func() (space.Point, error) { return in.Sample(u.rng) }), mean(u.aligned)
	// The means of blocks and of unrollings of 1 to 8, over the most that counts.
	if want := (4+12./16)/6 + 7./8/6; random < want-0.02 || random > want+0.02 {
		t.Errorf("random points have an alignment of %v, not %v", random, want)
	}
	if aligned < random+0.15 {
		t.Errorf("the points to begin with have an alignment of %v, random ones %v", aligned, random)
	}
	if p := in.Default(); u.enc.alignment(p) != 4./6 {
		t.Errorf("the alignment of %s is %v", p, u.enc.alignment(p))
	}
}
