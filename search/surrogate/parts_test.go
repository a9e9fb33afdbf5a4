package surrogate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/space"
)

// TestParts: a prediction is what the parameters add alone and a sum of kernels of the distance in all of them, which are sums of
// products. Many predictions at once are the same, to the bit.
func TestParts(t *testing.T) {
	s, err := space.New("parts", []space.Parameter{
		space.Ints("a", 1, 2, 3, 4, 6, 8, 12), space.Bool("b"), space.Enum("c", "x", "y", "z").If("b"),
		space.Range("d", 0, 9).If(`c == "x"`), space.Pow2("e", 1, 64),
	}, "a <= e || b")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var seen []space.Observation
	for range 30 {
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: 1 + rng.Float64()}})
	}
	m, ok := Learn(s, 1, seen, true)
	if !ok {
		t.Fatal("nothing was learned")
	}
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	rates, weights := mixture()
	for i := range 2000 {
		d := 60 * math.Pow(float64(i)/2000, 3)
		sum := 0.0
		for q, w := range weights {
			sum += w * math.Exp(-rates[q]*d)
		}
		near("the mixture", sum, matern(d), 3e-4)
	}
	var points []space.Point
	for range 200 {
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, p)
	}
	together := make([]float64, len(points))
	m.PredictAll(points, together)
	for i, p := range points {
		near("one of many predictions", together[i], m.Predict(p), 0)
	}
	weight := m.Products()
	factors := make([]float64, len(weight))
	for range 50 {
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		products := slices.Clone(weight)
		sum := m.mean
		for k := range s.Parameters() {
			sum += m.Alone(k, p.Ordinal(k))
			m.Factors(k, p.Ordinal(k), factors)
			for c, f := range factors {
				products[c] *= f
			}
		}
		exact := sum
		x := m.process.scaled(m.enc.encode(p))
		for i, a := range m.alpha {
			exact += m.scale * a * (1 - additive) * matern(squared(x, m.process.x[i]))
		}
		near("the sum of kernels", exact, m.Predict(p), 1e-9)
		for _, v := range products {
			sum += v
		}
		near("the sum of products", sum, m.Predict(p), 1e-3*m.scale)
	}
}
