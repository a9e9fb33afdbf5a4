package random_test

import (
	"testing"

	"tune/search/random"
	"tune/space"
)

// Over many seeds every point is equally likely to be the first, and equally likely to be within the first batch.
func TestUniform(t *testing.T) {
	// The points of this space are not a product: a third of them have b, the others c.
	s, err := space.New("triangle", []space.Parameter{
		space.Range("a", 0, 14), space.Range("b", 0, 9).If("a < 5"), space.Range("c", 0, 9).If("a >= 5"),
	})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := s.Len()
	if n != 150 {
		t.Fatalf("the space has %d points", n)
	}
	const seeds = 6000
	first, batch := make([]float64, n), make([]float64, n)
	for seed := range uint64(seeds) {
		proposals := random.New(s, seed).Ask(space.Progress{})
		if len(proposals) != random.BatchSize {
			t.Fatalf("the first batch has %d points", len(proposals))
		}
		for k, p := range proposals {
			i, _ := s.Index(p.Point)
			if k == 0 {
				first[i]++
			}
			batch[i]++
		}
	}
	// Chi square with 149 degrees of freedom is below 217 in all but one of 5,000 cases. The second has less
	// variance than its formula says, because no point is drawn twice.
	for name, c := range map[string]struct {
		counts   []float64
		expected float64
	}{"first": {first, seeds / 150.0}, "first batch": {batch, seeds * random.BatchSize / 150.0}} {
		x := 0.0
		for _, count := range c.counts {
			x += (count - c.expected) * (count - c.expected) / c.expected
		}
		if x > 217 {
			t.Errorf("the %s is not uniform: chi square is %.0f", name, x)
		}
	}
}
