package surrogate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"tune/internal/linear"
	"tune/space"
)

// Model is what the strategy learns of right outcomes: the same process with the same beliefs about its hyper-parameters, for those
// who want to know which parameters matter. It differs in two ways. It learns the logarithms of the costs without flattening the bad
// ones, and failures are left out, so that it describes what right points cost.
type Model struct {
	enc     *encoder
	process *process
	alpha   []float64 // weight of each observed point
	mean    float64
	scale   float64
	// explained is what Explained returns.
	explained float64
}

// LeastLearned is the least number of right outcomes that a model is learned from.
const LeastLearned = 8

// Learn learns a model of the space from right outcomes; others are left out. Costs must be above 0 where log says that their
// logarithms are learned. ok is false for fewer than LeastLearned points, and where all costs are the same. Of many outcomes it
// takes the best ones and a sample of the others, as the strategy does; the seed decides which.
func Learn(s *space.Space, seed uint64, seen []space.Observation, log bool) (m *Model, ok bool) {
	var right []space.Observation
	for _, o := range seen {
		if o.Outcome.Counts() && (!log || o.Outcome.Cost > 0) {
			right = append(right, o)
		}
	}
	if len(right) < LeastLearned {
		return nil, false
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d6f64656c))
	right = half(right, observedMost, rng)
	m = &Model{enc: newEncoder(s)}
	x, y := make([][]float64, len(right)), make([]float64, len(right))
	for i, o := range right {
		x[i], y[i] = m.enc.encode(o.Point), o.Outcome.Cost
		if log {
			y[i] = math.Log(y[i])
		}
	}
	least, most := slices.Min(y), slices.Max(y)
	for _, v := range y {
		m.mean += v / float64(len(y))
	}
	for i := range y {
		y[i] -= m.mean
		m.scale += y[i] * y[i] / float64(len(y))
	}
	if m.scale = math.Sqrt(m.scale); !(least < most) || !(m.scale > 0) || math.IsInf(m.scale, 0) {
		return nil, false
	}
	for i := range y {
		y[i] /= m.scale
	}
	b := newBelief(m.enc.switches)
	m.process = newProcess(m.enc.group, fit(x, y, m.enc.group, b, b.hyper(), firstSteps))
	for _, v := range x {
		m.process.observe(m.process.scaled(v))
	}
	m.alpha = m.process.solve(m.process.whiten(y))
	m.explained = m.process.explained(y, m.alpha)
	return m, true
}

// Explained is the part of the variance of the learned values that the model explains of each without having seen it, but for a few that are
// far from all others, and how many were learned. It is 0 for a model that only knows their mean, and below 0 for one that is worse. The hyper-parameters, which are found once from
// all values, make it a little too large.
func (m *Model) Explained() (share float64, values int) { return m.explained, len(m.alpha) }

// explained leaves one value after the other out. What the others predict of it is off by its weight over the diagonal element of the
// inverse of their covariances (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, equation 5.12).
func (g *process) explained(y, alpha []float64) float64 {
	n := len(y)
	diagonal := make([]float64, n)
	each(n, func(j int) {
		// Column j of the inverse of the factor, from its diagonal on. The squares of its rows add up to the diagonal of the inverse.
		column := make([]float64, n-j)
		column[0] = 1 / g.chol[j][j]
		for i := j + 1; i < n; i++ {
			column[i-j] = -linear.Dot(g.chol[i][j:i], column[:i-j]) / g.chol[i][i]
		}
		diagonal[j] = linear.Dot(column, column)
	})
	kept := withoutStray(y)
	errors, total, mean := 0.0, 0.0, 0.0
	for _, i := range kept {
		mean += y[i] / float64(len(kept))
	}
	for _, i := range kept {
		e, v := alpha[i]/diagonal[i], y[i]-mean
		errors += e * e
		total += v * v
	}
	return 1 - errors/total
}

const (
	// strayDistance is how many times the usual distance from the median a value is a stray one: for normal values 5.4 standard deviations.
	strayDistance = 8
	// strayPart is 1 over the part of the values that may be.
	strayPart = 20
)

// withoutStray returns the places of the values but for stray ones, a twentieth of them at most: plain loops, or the first points of a search, may cost
// many times what all others do. Nothing predicts the only point of its kind, and its distance would be most of the variance.
func withoutStray(y []float64) []int {
	sorted := slices.Sorted(slices.Values(y))
	median := sorted[len(y)/2]
	distance := func(i int) float64 { return math.Abs(y[i] - median) }
	places := make([]int, len(y))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	limit := strayDistance * distance(places[len(y)/2])
	kept := len(y)
	for most := len(y) - (len(y)+strayPart-1)/strayPart; limit > 0 && kept > most && distance(places[kept-1]) > limit; {
		kept--
	}
	return places[:kept]
}

// half returns n observations: the better half of them the best, the others a sample of the rest; or all.
func half(all []space.Observation, n int, rng *rand.Rand) []space.Observation {
	if len(all) <= n {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b space.Observation) int { return space.Objective{}.Order(a.Outcome, b.Outcome) })
	rest := all[n/2:]
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return all[:n]
}

// Predict returns the cost that the model expects of a point, or its logarithm where it learned logarithms.
func (m *Model) Predict(p space.Point) float64 {
	x := m.process.scaled(m.enc.encode(p))
	sum := 0.0
	for i, a := range m.alpha {
		sum += a * m.process.kernel(x, m.process.x[i])
	}
	return m.mean + m.scale*sum
}

// solve solves Lᵀ·α = z.
func (g *process) solve(z []float64) []float64 {
	alpha := slices.Clone(z)
	for i := len(alpha) - 1; i >= 0; i-- {
		alpha[i] /= g.chol[i][i]
		for j := range i {
			alpha[j] -= g.chol[i][j] * alpha[i]
		}
	}
	return alpha
}
