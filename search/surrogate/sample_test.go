package surrogate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// line has one feature of which y is a smooth function.
func line() (x [][]float64, y []float64, group []int) {
	for i := range 6 {
		t := float64(i) / 5
		x, y = append(x, []float64{t}), append(y, math.Sin(4*t))
	}
	return x, y, []int{0}
}

// TestSampleHypers: draws have the means and deviations of the posterior, integrated on a grid.
func TestSampleHypers(t *testing.T) {
	x, y, group := line()
	var sum, square [2]float64
	total := 0.0
	for w := float64(leastLog); w <= mostWeight; w += 0.05 {
		for e := float64(leastLog); e <= mostNoise; e += 0.05 {
			d := math.Exp(posterior(x, y, group, newBelief([]bool{false}), []float64{w, e}))
			total += d
			for i, v := range []float64{w, e} {
				sum[i] += d * v
				square[i] += d * v * v
			}
		}
	}
	const draws = 20000
	var got, gotSquare [2]float64
	b := newBelief([]bool{false})
	for _, h := range sampleHypers(x, y, group, b, b.hyper(), draws, rand.New(rand.NewPCG(1, 1))) {
		for i, v := range []float64{h.weight[0], h.noise} {
			got[i] += v / draws
			gotSquare[i] += v * v / draws
		}
	}
	for i, name := range []string{"weight", "noise"} {
		want := sum[i] / total
		deviation := math.Sqrt(square[i]/total - want*want)
		if math.Abs(got[i]-want) > 0.05*deviation {
			t.Errorf("%s: the draws have the mean %v, the posterior %v", name, got[i], want)
		}
		if d := math.Sqrt(gotSquare[i] - got[i]*got[i]); math.Abs(d/deviation-1) > 0.05 {
			t.Errorf("%s: the draws have the deviation %v, the posterior %v", name, d, deviation)
		}
	}
}

// TestPosterior: up to the same constant everywhere, it is the evidence that fit climbs, with the prior.
func TestPosterior(t *testing.T) {
	x, y, group := line()
	grad := make([]float64, 2)
	constant := math.NaN()
	b := newBelief([]bool{true})
	for _, theta := range [][]float64{b.mean, {3, -2}, {-6, -9}} {
		d := posterior(x, y, group, b, theta) - evidence(x, y, group, split(theta), grad)
		for i, t := range theta {
			d += math.Pow((t-b.mean[i])/b.spread[i], 2) / 2
		}
		if math.IsNaN(constant) {
			constant = d
		}
		if math.Abs(d-constant) > 1e-9 {
			t.Errorf("at %v they differ by %v, elsewhere by %v", theta, d, constant)
		}
	}
}

// TestPromise: that of several models is the sum of theirs.
func TestPromise(t *testing.T) {
	u := &Strategy{target: -1, models: []model{{signal: 1}, {signal: 2}, {signal: 0.5}}}
	c := &candidate{views: []view{{mean: 0.3, explained: 0.2}, {mean: -2, explained: 0.9, bad: 0.5}, {mean: 4, explained: 0.1}}}
	want := 0.0
	for k, m := range u.models {
		want += math.Exp((&Strategy{target: u.target, models: []model{m}}).promise(&candidate{views: c.views[k : k+1]}))
	}
	if got := u.promise(c); math.Abs(got-math.Log(want)) > 1e-12 {
		t.Errorf("it is %v, the logarithm of the sum %v", got, math.Log(want))
	}
}
