package surrogate

import "math"

// The mean of the process is a sum over the observed points. Half of each covariance is a sum of functions of one parameter. The other
// half is a Matérn kernel of the distance in all parameters, whose square is a sum over the parameters. A Matérn kernel of smoothness
// 5/2 is a mixture of Gaussian kernels: the mean of exp(−distance²/2v), where v has the gamma distribution of shape 5/2 and mean 1. Each
// Gaussian kernel is a product of one factor for each parameter.

// The mixture is summed by the trapezoidal rule for the logarithm of v, whose error falls exponentially with the step: mixedCount values
// of v from mixedLeast on, each twice the one before, so that each factor is the square of the next. The kernel is off by 3e-4 at most, and
// the error changes so smoothly with the distance that little of it is left in a prediction: docs/design/insight.md has figures. Weights
// that are fitted for the least error of the kernel do worse. Their error changes sign with the distance, and the weights of the observed
// points, which have both signs, amplify that.
const mixedCount, mixedLeast, mixedStep = 10, 0.011, math.Ln2

// mixture returns the rates 1/2v of the Gaussian kernels, and their weights.
func mixture() (rates, weights [mixedCount]float64) {
	const shape = 2.5
	for i := range mixedCount {
		v := math.Ldexp(mixedLeast, i)
		rates[i] = 1 / (2 * v)
		weights[i] = mixedStep * math.Pow(shape*v, shape) * math.Exp(-shape*v) / math.Gamma(shape)
	}
	return rates, weights
}

// Alone returns what parameter k adds to a prediction by itself, whatever the values of the others are. The ordinal is -1 where the
// parameter is inactive.
func (m *Model) Alone(k, ordinal int) float64 {
	g := m.process
	first, end := m.enc.features(k)
	x := m.at(k, ordinal)
	sum := 0.0
	for i, a := range m.alpha {
		part := 0.0
		for f := first; f < end; f++ {
			d := x[f-first] - g.x[i][f]
			part += d * d
			if f+1 == end || g.group[f+1] != g.group[f] {
				sum += a * matern(part)
				part = 0
			}
		}
	}
	return m.scale * g.parts * sum
}

// Products returns the weights of some products of one factor for each parameter. Their weighted sum, a constant and what the parameters
// add alone are the prediction.
func (m *Model) Products() []float64 {
	_, mixed := mixture()
	weights := make([]float64, 0, len(m.alpha)*mixedCount)
	for _, a := range m.alpha {
		for _, w := range mixed {
			weights = append(weights, m.scale*(1-additive)*a*w)
		}
	}
	return weights
}

// Factors writes the factor of parameter k in each product.
func (m *Model) Factors(k, ordinal int, out []float64) {
	rates, _ := mixture()
	first, end := m.enc.features(k)
	x := m.at(k, ordinal)
	for i, o := range m.process.x {
		products := out[i*mixedCount : (i+1)*mixedCount]
		factor := math.Exp(-rates[mixedCount-1] * squared(x, o[first:end]))
		for q := mixedCount - 1; q >= 0; q-- {
			products[q] = factor
			factor *= factor
		}
	}
}

// at returns the features of parameter k in units of the lengths.
func (m *Model) at(k, ordinal int) []float64 {
	x := make([]float64, len(m.enc.group))
	m.enc.write(k, ordinal, x)
	first, end := m.enc.features(k)
	for f := first; f < end; f++ {
		x[f] *= m.process.scale[f]
	}
	return x[first:end]
}
