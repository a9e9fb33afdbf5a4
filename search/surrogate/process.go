package surrogate

import (
	"math"
	"slices"
	"sync"

	"tune/internal/linear"
)

// process is a Gaussian process of mean 0 and variance 1 over feature vectors (Rasmussen and Williams, "Gaussian
// Processes for Machine Learning", 2006, chapters 2, 4 and 5). Its kernel is the mean of two: a Matérn kernel of
// smoothness 5/2 over all features, and the average of such kernels over each group alone, which learns main effects
// from few points (Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", 2011).
type process struct {
	group []int     // of each feature
	alone bool      // whether each group has one feature
	scale []float64 // of each feature: an inverse length
	parts float64   // weight of each group's own kernel
	noise float64   // variance of the noise
	x     [][]float64
	chol  [][]float64 // rows of the lower triangle of the Cholesky factor of the observed points
}

// hyper holds the logarithms of the hyper-parameters.
type hyper struct {
	weight []float64 // of each group: the inverse square of its length
	noise  float64   // variance
}

// split separates the weights from the noise, which comes last.
func split(theta []float64) hyper {
	k := len(theta) - 1
	return hyper{theta[:k], theta[k]}
}

func newProcess(group []int, h hyper) *process {
	fillMatern()
	g := &process{group: group, alone: len(group) == len(h.weight), parts: additive / float64(max(len(h.weight), 1)), noise: math.Exp(h.noise)}
	for _, k := range group {
		g.scale = append(g.scale, math.Exp(h.weight[k]/2))
	}
	return g
}

// scaled divides features by their lengths.
func (g *process) scaled(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * g.scale[i]
	}
	return out
}

// kernel is the covariance of two points, given in units of the lengths.
func (g *process) kernel(a, b []float64) float64 {
	all, own := 0.0, 0.0
	b = b[:len(a)]
	if g.alone {
		for f, v := range a {
			d := v - b[f]
			d *= d
			all += d
			own += matern(d)
		}
	} else {
		part, at := 0.0, 0
		for f, v := range a {
			if g.group[f] != at {
				own += matern(part)
				all += part
				part, at = 0, g.group[f]
			}
			d := v - b[f]
			part += d * d
		}
		all += part
		own += matern(part)
	}
	return (1-additive)*matern(all) + g.parts*own
}

// matern is the Matérn kernel of smoothness 5/2 at a squared distance, interpolated linearly in a table. The table has the same
// number of places for each factor of two, so that the highest bits of the number give the place.
func matern(squared float64) float64 {
	i := int(math.Float64bits(squared)>>maternShift) - maternFirst
	switch {
	case i < 0:
		return 1 - 5.0/6*squared + 25.0/24*squared*squared
	case i < len(maternTable):
		return maternTable[i].at + maternTable[i].slope*squared
	}
	return 0
}

// maternSlope is its derivative.
func maternSlope(squared float64) float64 {
	i := int(math.Float64bits(squared)>>maternShift) - maternFirst
	switch {
	case i < 0:
		return -5.0/6 + 25.0/12*squared
	case i < len(maternTable):
		return maternTable[i].slope
	}
	return 0
}

// The table has 128 places for each factor of two, from 2⁻¹² to 2⁷: about as much as the first-level cache holds.
const (
	maternShift = 52 - 7
	maternFirst = (1023 - 12) << 7
	maternLast  = (1023 + 7) << 7
)

var maternTable [maternLast - maternFirst]struct{ at, slope float64 }

// fillMatern computes the table for the first process, and not when the program starts: workers are started by the hundred.
var fillMatern = sync.OnceFunc(func() {
	exact := func(squared float64) float64 {
		r := math.Sqrt(5 * squared)
		return (1 + r + r*r/3) * math.Exp(-r)
	}
	t := &maternTable
	for i := range t {
		a := math.Float64frombits(uint64(maternFirst+i) << maternShift)
		b := math.Float64frombits(uint64(maternFirst+i+1) << maternShift)
		t[i].slope = (exact(b) - exact(a)) / (b - a)
		t[i].at = exact(a) - t[i].slope*a
	}
})

func squared(a, b []float64) float64 {
	sum := 0.0
	b = b[:len(a)]
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

// leastVariance keeps the factor's diagonal away from 0.
const leastVariance = 1e-9

// observe adds a point, given in units of the lengths. ExtendVecSym of gonum's mat.Cholesky does the same, but copies the factor and
// estimates its condition each time: growing to 300 points takes it 80 times as long (version 0.17).
func (g *process) observe(x []float64) {
	row := g.project(x, make([]float64, 0, len(g.x)+1))
	row = append(row, math.Sqrt(max(1+g.noise-linear.Dot(row, row), leastVariance)))
	g.x, g.chol = append(g.x, x), append(g.chol, row)
}

// observeAll observes the first points, given in units of the lengths.
func (g *process) observeAll(x [][]float64) {
	rows := make([][]float64, len(x))
	each(len(x), func(i int) {
		rows[i] = make([]float64, i, i+1)
		for j := range rows[i] {
			rows[i][j] = g.kernel(x[i], x[j])
		}
	})
	g.x = x
	for _, row := range rows {
		for j := range row {
			row[j] = (row[j] - linear.Dot(g.chol[j][:j], row[:j])) / g.chol[j][j]
		}
		row = append(row, math.Sqrt(max(1+g.noise-linear.Dot(row, row), leastVariance)))
		g.chol = append(g.chol, row)
	}
}

// rowsAhead is how many rows a projection has room for before it must be reallocated.
const rowsAhead = 16

// project extends v, the first part of the solution of L·v = k(x, observed), to all observed points.
func (g *process) project(x []float64, v []float64) []float64 {
	if more := len(g.x) - len(v); more > 1 {
		v = slices.Grow(v, more+rowsAhead)
	}
	for i := len(v); i < len(g.x); i++ {
		v = append(v, (g.kernel(x, g.x[i])-linear.Dot(g.chol[i][:i], v))/g.chol[i][i])
	}
	return v
}

// whiten solves L·z = y for the first points.
func (g *process) whiten(y []float64) []float64 {
	z := make([]float64, len(y))
	for i := range y {
		z[i] = (y[i] - linear.Dot(g.chol[i][:i], z[:i])) / g.chol[i][i]
	}
	return z
}

// spread is the most likely variance of the signal, given whitened values.
func spread(z []float64) float64 {
	return max(linear.Dot(z, z)/float64(len(z)), leastVariance)
}

// evidence returns the logarithm of the likelihood of y at points x, with the best variance of the signal, and writes
// its gradient with respect to the hyper-parameters, the noise last.
func evidence(x [][]float64, y []float64, group []int, h hyper, grad []float64) float64 {
	n := len(x)
	g := newProcess(group, h)
	logDet := 0.0
	scaled := make([][]float64, n)
	for i, v := range x {
		scaled[i] = g.scaled(v)
	}
	g.observeAll(scaled)
	for i, row := range g.chol {
		logDet += math.Log(row[i])
	}
	// Column j of L⁻¹ from its diagonal on.
	inverse := make([][]float64, n)
	each(n, func(j int) {
		col := make([]float64, n-j)
		col[0] = 1 / g.chol[j][j]
		for i := j + 1; i < n; i++ {
			col[i-j] = -linear.Dot(g.chol[i][j:i], col[:i-j]) / g.chol[i][i]
		}
		inverse[j] = col
	})
	z := g.whiten(y)
	signal := spread(z)
	alpha := make([]float64, n) // K⁻¹·y
	for j := range n {
		alpha[j] = linear.Dot(inverse[j], z[j:])
	}
	// The derivative is ½·Σᵢⱼ (αᵢ·αⱼ/signal − K⁻¹ᵢⱼ)·∂Kᵢⱼ, and that of a Matérn kernel with respect to the logarithm of a
	// weight its slope times the group's part of the squared distance.
	clear(grad)
	trace := 0.0
	for i := range n {
		trace += alpha[i]*alpha[i]/signal - linear.Dot(inverse[i], inverse[i])
	}
	weights := len(h.weight)
	slopes := func(i int, terms []float64) { // those of point i with each one before it
		for j := range i {
			c := alpha[i]*alpha[j]/signal - linear.Dot(inverse[i], inverse[j][i-j:])
			part := terms[j*weights : (j+1)*weights]
			clear(part)
			b := g.x[j][:len(group)]
			all := 0.0
			for f, v := range g.x[i] {
				d := v - b[f]
				part[group[f]] += d * d
				all += d * d
			}
			whole := (1 - additive) * maternSlope(all)
			for k, p := range part {
				if p > 0 {
					part[k] = c * p * (whole + g.parts*maternSlope(p))
				}
			}
		}
	}
	// Two points at a time, in two goroutines. The terms are added in one order, so that the sum is the same whoever is first.
	pair := [2][]float64{make([]float64, n*weights), make([]float64, n*weights)}
	for first := 0; first < n; first += 2 {
		add := func(half int) {
			if i := first + half; i < n {
				slopes(i, pair[half])
			}
		}
		if n < fewPoints {
			add(0)
			add(1)
		} else {
			inTwo(add)
		}
		for half := range min(2, n-first) {
			terms := pair[half][:(first+half)*weights]
			for len(terms) > 0 {
				for k, t := range terms[:weights] {
					grad[k] += t
				}
				terms = terms[weights:]
			}
		}
	}
	grad[len(grad)-1] = 0.5 * g.noise * trace
	return -logDet - float64(n)/2*math.Log(signal)
}

// belief is the prior of the hyper-parameters: independent normal variables, the weights of the groups first, the noise
// last.
type belief struct{ mean, spread []float64 }

// newBelief returns the prior for groups; switches says of each whether it has two values only.
func newBelief(switches []bool) belief {
	var b belief
	for _, is := range switches {
		mean, spread := weightMean, weightSpread
		if is {
			mean, spread = switchMean, switchSpread
		}
		b.mean, b.spread = append(b.mean, mean), append(b.spread, spread)
	}
	b.mean, b.spread = append(b.mean, noiseMean), append(b.spread, noiseSpread)
	return b
}

// hyper returns the means.
func (b belief) hyper() hyper {
	return split(b.mean)
}

// fit searches for the most probable hyper-parameters from h on in the given number of steps, by Rprop (Igel and Hüsken,
// "Improving the Rprop learning algorithm", 2000), which uses only the signs of the gradient.
func fit(x [][]float64, y []float64, group []int, b belief, h hyper, steps int) hyper {
	k := len(h.weight) + 1
	theta := append(slices.Clone(h.weight), h.noise)
	grad, before, step := make([]float64, k), make([]float64, k), slices.Repeat([]float64{stepFirst}, k)
	best, most := slices.Clone(theta), math.Inf(-1)
	for range steps {
		v := evidence(x, y, group, split(theta), grad)
		for i, t := range theta {
			d := (t - b.mean[i]) / b.spread[i]
			v -= d * d / 2
			grad[i] -= d / b.spread[i]
		}
		if v > most {
			most = v
			copy(best, theta)
		}
		for i, d := range grad {
			switch s := d * before[i]; {
			case s > 0:
				step[i] = min(step[i]*stepUp, stepMost)
			case s < 0:
				step[i], d = max(step[i]*stepDown, stepLeast), 0
			}
			switch {
			case d > 0:
				theta[i] += step[i]
			case d < 0:
				theta[i] -= step[i]
			}
			theta[i] = min(max(theta[i], leastLog), mostWeight)
			before[i] = d
		}
		theta[k-1] = min(theta[k-1], mostNoise)
	}
	return split(best)
}
