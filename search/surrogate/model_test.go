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

// TestExplainedWithoutStray: the only point of its kind, far from all others, does not decide how much is explained; a tenth of the points does.
func TestExplainedWithoutStray(t *testing.T) {
	s, err := space.New("s", []space.Parameter{space.Range("a", 0, 9), space.Range("b", 0, 9), space.Enum("form", "tiled", "plain")})
	if err != nil {
		t.Fatal(err)
	}
	share := func(strays int, kind bool) float64 {
		rng := rand.New(rand.NewPCG(3, 4))
		var seen []space.Observation
		for len(seen) < 60 {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			if kind && (p.Str("form") == "plain") != (len(seen) < strays) {
				continue // the stray ones are of a kind
			}
			cost := math.Exp(0.05*float64(p.Int("a")) + 0.01*rng.NormFloat64())
			if len(seen) < strays {
				cost *= 100 * math.Exp(rng.NormFloat64()) // whatever the parameters are
			}
			seen = append(seen, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: cost}})
		}
		m, ok := Learn(s, 1, seen, true)
		if !ok {
			t.Fatal("nothing was learned")
		}
		explained, _ := m.Explained()
		return explained
	}
	if got := share(0, true); got < 0.9 {
		t.Errorf("without stray values %v is explained", got)
	}
	if got := share(1, true); got < 0.5 {
		t.Errorf("with one stray value %v is explained", got)
	}
	if got := share(6, false); got > 0.44 {
		t.Errorf("of values of which a tenth is far away without a reason, %v is explained", got)
	}
}

// TestWithoutStray: a twentieth of the values is left out at most, and only far ones.
func TestWithoutStray(t *testing.T) {
	for _, test := range []struct {
		far, of int // of each other value 0 to 1
		at      float64
		want    int
	}{{0, 40, 0, 40}, {1, 40, 5, 39}, {1, 40, 2, 40}, {2, 40, -9, 38}, {6, 40, 9, 38}, {1, 8, 50, 7}} {
		var y []float64
		for i := range test.of {
			y = append(y, float64(i)/float64(test.of))
			if i < test.far {
				y[i] = test.at + y[i]
			}
		}
		if got := len(withoutStray(y)); got != test.want {
			t.Errorf("of %+v, %d are kept", test, got)
		}
	}
	if got := len(withoutStray([]float64{1, 1, 1, 1, 9})); got != 5 {
		t.Errorf("of values most of which are the same, %d are kept", got)
	}
}
