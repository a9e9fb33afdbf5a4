package choice

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Pair is how a chooser did at one shape that played no part in making it: the ratio of the cost of its variant to the least cost,
// with the interval of that ratio. Low and High are Ratio where the error is not known. A ratio below 1 says that the variant was
// measured as faster than what counted as the best, and stays as it is, because errors in both directions cancel in a mean.
type Pair struct {
	Weight           float64
	Ratio, Low, High float64
	Variant          int // the variant that was chosen
}

// Bootstrap says how intervals are made. A field that is zero takes its default.
type Bootstrap struct {
	Seed       uint64
	Samples    int     // DefaultSamples
	Confidence float64 // of the intervals, and of those of the pairs; DefaultConfidence
}

// The defaults of Bootstrap.
const (
	DefaultSamples    = 4000
	DefaultConfidence = 0.95
)

// Estimate is a number with its interval.
type Estimate struct{ Value, Low, High float64 }

// Certificate says what a chooser costs at shapes that played no part in making it. Regrets are ratios less 1: 0.01 is one per
// cent.
type Certificate struct {
	Shapes           int // how many the chooser was judged at
	Variants         int // how many different ones it chose there
	Missing          int // shapes at which its variant has no cost; the regrets are infinite where there are any
	Mean, P95, Worst Estimate
	Confidence       float64
	// Beyond bounds what was not seen: with Confidence, at most this share of shapes, drawn as these were, has a regret above
	// Worst.Value. It does not depend on weights.
	Beyond float64
}

// Evaluate judges a chooser at the shapes of a matrix, whose variants are those of the matrix that the chooser was made from. A
// shape is fairly held out where the chooser was made from the other half of a Split.
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

// CrossPairs returns how a rule does at each shape of a matrix, in order, where the chooser was made from the shapes of the other folds
// (see Split). The seed assigns the shapes to folds.
func CrossPairs(r Rule, m Matrix, folds int, seed uint64) ([]Pair, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if folds < 2 || folds > len(m.Shapes) {
		return nil, fmt.Errorf("%d shapes in %d folds: want 2 folds or more, and no more than shapes", len(m.Shapes), folds)
	}
	out := make([]Pair, len(m.Shapes))
	order := rand.New(rand.NewPCG(seed, uint64(folds))).Perm(len(m.Shapes))
	rows := newTerms(m).order
	for fold := range folds {
		var heldOut []int
		for at := fold; at < len(order); at += folds {
			heldOut = append(heldOut, rows[order[at]])
		}
		train, held := m.Split(heldOut)
		c, err := r.Train(train)
		if err != nil {
			return nil, fmt.Errorf("the rule %s, without fold %d: %w", r.Name, fold+1, err)
		}
		pairs, err := Pairs(c, held)
		if err != nil {
			return nil, fmt.Errorf("the rule %s, in fold %d: %w", r.Name, fold+1, err)
		}
		for at, i := range heldOut {
			out[i] = pairs[at]
		}
	}
	return out, nil
}

func (b Bootstrap) check(pairs []Pair) (Bootstrap, error) {
	b.Samples, b.Confidence = cmp.Or(b.Samples, DefaultSamples), cmp.Or(b.Confidence, DefaultConfidence)
	switch {
	case len(pairs) < 2:
		return b, fmt.Errorf("%d shapes say nothing about others: judge the chooser at 2 or more", len(pairs))
	case b.Samples < 100:
		return b, fmt.Errorf("an interval of %d samples: want 100 or more", b.Samples)
	case !(b.Confidence > 0 && b.Confidence < 1):
		return b, fmt.Errorf("an interval with the confidence %v: want more than 0 and less than 1", b.Confidence)
	}
	for i, p := range pairs {
		if !(p.Weight > 0) || math.IsInf(p.Weight, 1) {
			return b, fmt.Errorf("pair %d has the weight %v: want a finite number larger than 0", i+1, p.Weight)
		}
		if !math.IsInf(p.Ratio, 1) && !(p.Low > 0 && p.Low <= p.Ratio && p.Ratio <= p.High && !math.IsInf(p.High, 1)) {
			return b, fmt.Errorf("pair %d has the ratio %v in an interval from %v to %v: want finite numbers larger than 0, in order", i+1, p.Ratio, p.Low, p.High)
		}
	}
	return b, nil
}

// Certify sums up pairs.
//
// The intervals of Mean and P95 come from a bootstrap: in each sample, as many shapes are drawn with replacement as there are, and
// each ratio is drawn from its own error, a normal distribution of its logarithm with the width of the interval on each side.
// Independent errors of the pairs count twice so, once in how the ratios differ and once as errors, which makes the intervals a
// little too wide rather than too narrow.
//
// That of Mean is studentised (Hall, Annals of Statistics 16, 1988), because often a few shapes have most of the regret: it is made
// of the differences of the samples' means from the mean, each in standard errors of its sample, which count as at most 6. That of
// P95 has the middle of the samples. The bootstrap knows no shape beyond those that were judged: below some sixty shapes, the
// upper end of P95 is the worst of them. Beyond says what is left.
//
// Worst is about the judged shapes alone: its interval has the largest of the lower and of the upper ends of the pairs, after these
// are widened so that all hold together (Bonferroni).
func Certify(pairs []Pair, b Bootstrap) (Certificate, error) {
	b, err := b.check(pairs)
	if err != nil {
		return Certificate{}, err
	}
	pairs = slices.SortedFunc(slices.Values(pairs), func(p, q Pair) int {
		return cmp.Or(cmp.Compare(p.Ratio, q.Ratio), cmp.Compare(p.Weight, q.Weight), cmp.Compare(p.Low, q.Low), cmp.Compare(p.High, q.High))
	})
	n := float64(len(pairs))
	c := Certificate{Shapes: len(pairs), Confidence: b.Confidence, Beyond: 1 - math.Pow(1-b.Confidence, 1/n)}
	regrets, weights := make([]float64, len(pairs)), make([]float64, len(pairs))
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
	if c.Missing > 0 {
		all := Estimate{r.Worst, r.Worst, r.Worst}
		c.Mean, c.P95, c.Worst = all, all, all
		return c, nil
	}
	one, together := normalWidth(b.Confidence), normalWidth(1-(1-b.Confidence)/n)
	c.Worst = Estimate{r.Worst, math.Inf(-1), math.Inf(-1)}
	for _, p := range pairs {
		c.Worst.Low = max(c.Worst.Low, p.draw(-together/one)-1)
		c.Worst.High = max(c.Worst.High, p.draw(together/one)-1)
	}
	means, p95s := make([]float64, b.Samples), make([]float64, b.Samples)
	wide := math.Hypot(standardError(regrets, weights, r.Mean), errorOfPairs(pairs)/one)
	random := rand.New(rand.NewPCG(b.Seed, uint64(len(pairs))))
	for at := range b.Samples {
		for i := range pairs {
			p := pairs[random.IntN(len(pairs))]
			regrets[i], weights[i] = p.draw(random.NormFloat64()/one)-1, p.Weight
		}
		drawn := summarise(regrets, weights)
		means[at], p95s[at] = r.Mean, drawn.P95
		if off := drawn.Mean - r.Mean; off != 0 {
			means[at] -= wide * max(-mostErrors, min(mostErrors, off/standardError(regrets, weights, drawn.Mean)))
		}
	}
	c.Mean, c.P95 = b.middle(r.Mean, means), b.middle(r.P95, p95s)
	return c, nil
}

// draw returns the ratio at a place of its interval: -1 is the lower end, 1 the upper one.
func (p Pair) draw(at float64) float64 {
	if at < 0 {
		return p.Ratio * math.Pow(p.Ratio/p.Low, at)
	}
	return p.Ratio * math.Pow(p.High/p.Ratio, at)
}

// normalWidth returns how many standard deviations an interval of the normal distribution with this confidence has on each side.
func normalWidth(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

// middle returns the interval that leaves equal shares of the samples out on both sides. It holds the value.
func (b Bootstrap) middle(value float64, samples []float64) Estimate {
	slices.Sort(samples)
	out := int((1 - b.Confidence) / 2 * float64(len(samples)))
	return Estimate{value, min(value, samples[out]), max(value, samples[len(samples)-1-out])}
}

// mostErrors bounds a difference in standard errors: where hardly two of the drawn shapes differ, their error says nothing.
const mostErrors = 6

// errorOfPairs returns half the width of the interval that the errors of the pairs alone give to the weighted mean.
func errorOfPairs(pairs []Pair) float64 {
	total, square := 0.0, 0.0
	for _, p := range pairs {
		e := p.Weight * p.Ratio * math.Log(p.High/p.Low) / 2
		total, square = total+p.Weight, square+e*e
	}
	return math.Sqrt(square) / total
}

// standardError returns the standard error of a weighted mean.
func standardError(values, weights []float64, mean float64) float64 {
	n, total, square := float64(len(values)), 0.0, 0.0
	for i, v := range values {
		total += weights[i]
		square += weights[i] * weights[i] * (v - mean) * (v - mean)
	}
	return math.Sqrt(square*n/(n-1)) / total
}
