package choice

import (
	"fmt"
	"math"
)

// Pair is how a chooser did at one shape that played no part in making it: the ratio of the cost of its variant to the least cost,
// with the interval of that ratio. Low and High are Ratio where the error is not known.
type Pair struct {
	Weight           float64
	Ratio, Low, High float64
	Variant          int // the variant that was chosen
}

// Bootstrap says how intervals are made. The zero value of each field takes its default.
type Bootstrap struct {
	Seed       uint64
	Samples    int     // DefaultSamples
	Confidence float64 // of the intervals, and of those of the pairs: DefaultConfidence
}

// The defaults of Bootstrap.
const (
	DefaultSamples    = 4000
	DefaultConfidence = 0.95
)

// Estimate is a number with its interval.
type Estimate struct{ Value, Low, High float64 }

// Certificate says what a chooser costs at shapes that played no part in making it. Regrets are ratios less 1: 0.01 is one per cent.
type Certificate struct {
	Shapes           int // how many the chooser was judged at
	Variants         int // how many different ones it chose there
	Missing          int // shapes at which its variant has no cost; the regrets are infinite where there are any
	Mean, P95, Worst Estimate
	Confidence       float64
	// Beyond bounds what was not seen: with Confidence, at most this share of shapes, drawn as these were, has a regret above
	// Worst.Value.
	Beyond float64
}

// Evaluate judges a chooser at the shapes of a matrix, whose variants are those of the matrix that the chooser was made from.
func Evaluate(c Chooser, heldOut Matrix, b Bootstrap) (Certificate, error) {
	pairs, err := Pairs(c, heldOut)
	if err != nil {
		return Certificate{}, err
	}
	return Certify(pairs, b)
}

// Pairs returns how a chooser did at each shape of a matrix, by the costs of the matrix, whose errors are not known.
func Pairs(c Chooser, m Matrix) ([]Pair, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	pairs := make([]Pair, len(m.Shapes))
	for i, s := range m.Shapes {
		j := c.At(s.Fields)
		if j < 0 || j >= len(m.Variants) {
			return nil, fmt.Errorf("the chooser takes variant %d at %s: want indices from 0 to %d", j, m.ShapeName(s.Fields), len(m.Variants)-1)
		}
		r := m.Costs[i][j] / m.Best(i)
		pairs[i] = Pair{s.Weight, r, r, r, j}
	}
	return pairs, nil
}

// Certify sums up pairs.
func Certify(pairs []Pair, b Bootstrap) (Certificate, error) {
	if len(pairs) == 0 {
		return Certificate{}, fmt.Errorf("there is nothing to certify: judge the chooser at one shape at least")
	}
	regrets, weights := make([]float64, len(pairs)), make([]float64, len(pairs))
	c := Certificate{Shapes: len(pairs), Confidence: b.Confidence}
	seen := map[int]bool{}
	for i, p := range pairs {
		regrets[i], weights[i] = p.Ratio-1, p.Weight
		seen[p.Variant] = true
		if math.IsInf(p.Ratio, 1) {
			c.Missing++
		}
	}
	c.Variants = len(seen)
	r := summarise(regrets, weights)
	exact := func(v float64) Estimate { return Estimate{v, v, v} }
	c.Mean, c.P95, c.Worst = exact(r.Mean), exact(r.P95), exact(r.Worst)
	return c, nil
}
