package surrogate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// posterior is the logarithm of the density of the hyper-parameters, the noise last, up to a constant.
func posterior(x [][]float64, y []float64, group []int, b belief, theta []float64) float64 {
	g := newProcess(group, split(theta))
	for _, v := range x {
		g.observe(g.scaled(v))
	}
	v := -float64(len(y)) / 2 * math.Log(spread(g.whiten(y)))
	for i, row := range g.chol {
		v -= math.Log(row[i])
	}
	for i, t := range theta {
		d := (t - b.mean[i]) / b.spread[i]
		v -= d * d / 2
	}
	return v
}

// sampleHypers draws n samples from the posterior, starting at a likely point, by slice sampling of one hyper-parameter after the
// other (Neal, "Slice sampling", 2003; the slice is not stepped out).
func sampleHypers(x [][]float64, y []float64, group []int, b belief, from hyper, n int, rng *rand.Rand) []hyper {
	theta := append(slices.Clone(from.weight), from.noise)
	now := posterior(x, y, group, b, theta)
	out := make([]hyper, n)
	for k := range out {
		for i, was := range theta {
			level := now + math.Log(1-rng.Float64())
			low := was - sliceWidth*rng.Float64()
			high := low + sliceWidth
			low, high = max(low, leastLog), min(high, mostWeight)
			if i == len(theta)-1 {
				high = min(high, mostNoise)
			}
			for {
				theta[i] = low + (high-low)*rng.Float64()
				if now = posterior(x, y, group, b, theta); !(now < level) {
					break
				}
				// The slice contains the old value, so that this loop ends.
				if theta[i] < was {
					low = theta[i]
				} else {
					high = theta[i]
				}
			}
		}
		out[k] = split(slices.Clone(theta))
	}
	return out
}
