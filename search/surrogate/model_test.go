package surrogate

import (
	"math"
	"math/rand/v2"
	"testing"

	"tune/space"
)

// TestExplained: what the model says of itself in closed form is what it predicts of each value from the others.
func TestExplained(t *testing.T) {
	s, err := space.New("s", []space.Parameter{space.Range("a", 0, 9), space.Range("b", 0, 9), space.Bool("c")})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var seen []space.Observation
	for range 80 { // enough for two goroutines
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		cost := math.Exp(0.3*float64(p.Int("a")) + rng.NormFloat64())
		seen = append(seen, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: cost}})
	}
	m, ok := Learn(s, 1, seen, true)
	if !ok {
		t.Fatal("nothing was learned")
	}
	y := make([]float64, len(seen))
	for i, o := range seen {
		y[i] = (math.Log(o.Outcome.Cost) - m.mean) / m.scale
	}
	errors, total := 0.0, 0.0
	for out := range seen {
		g := *m.process
		g.x, g.chol = nil, nil
		var rest []float64
		for i, x := range m.process.x {
			if i != out {
				g.observe(x)
				rest = append(rest, y[i])
			}
		}
		predicted := 0.0
		for i, a := range g.solve(g.whiten(rest)) {
			predicted += a * g.kernel(m.process.x[out], g.x[i])
		}
		errors += (y[out] - predicted) * (y[out] - predicted)
		total += y[out] * y[out]
	}
	share, values := m.Explained()
	if want := 1 - errors/total; math.Abs(share-want) > 1e-6 || values != len(seen) || share < 0.2 || share > 0.8 {
		t.Errorf("%v of %d values, want %v of %d", share, values, want, len(seen))
	}
}
