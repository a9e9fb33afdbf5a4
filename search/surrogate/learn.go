package surrogate

import (
	"cmp"
	"math"
	"slices"

	"tune/internal/linear"
	"tune/space"
)

// warp maps costs to a common scale: the least is 0 and the quartile 1. In between it is logarithmic where all costs are
// positive; beyond it grows as the logarithm of that, so that it does not matter how bad the bad points are.
type warp struct {
	least, quartile float64
	log             bool
}

// newWarp takes costs in ascending order.
func newWarp(sorted []float64) warp {
	w := warp{least: sorted[0], log: sorted[0] > 0}
	for _, q := range []int{len(sorted) / 4, len(sorted) / 2, len(sorted) - 1} {
		if w.quartile = w.distance(sorted[q]); w.quartile > 0 {
			break
		}
	}
	return w
}

// distance is how far a cost is above the least. The costs are halved first, because the difference of two finite costs may
// overflow.
func (w warp) distance(cost float64) float64 {
	if w.log {
		return math.Log(cost) - math.Log(w.least)
	}
	return cost/2 - w.least/2
}

func (w warp) at(cost float64) float64 {
	if w.quartile == 0 {
		return 0
	}
	t := w.distance(cost) / w.quartile
	if t > 1 {
		t = 1 + math.Log(min(t, math.MaxFloat64))
	}
	return t
}

// values returns the values that the process learns: warped costs, and for failures the worst of these.
func (u *Strategy) values(rows []int) []float64 {
	var costs []float64
	for _, i := range rows {
		if c := u.seen.cost(i); !math.IsInf(c, 1) {
			costs = append(costs, c)
		}
	}
	slices.Sort(costs)
	w := newWarp(costs)
	worst := w.at(costs[len(costs)-1])
	y := make([]float64, len(rows))
	for k, i := range rows {
		y[k] = worst
		if c := u.seen.cost(i); !math.IsInf(c, 1) {
			y[k] = w.at(c)
		}
	}
	return y
}

// standardise subtracts the trend and divides by the standard deviation of the remainder, which it returns.
func (u *Strategy) standardise(rows []int) []float64 {
	y := u.values(rows)
	u.target = slices.Min(y)
	n := u.seen.len()
	u.trend = u.prior.fit(y, n >= flatFrom && n < u.cfg.Early, func(k int) []float64 { return u.observation(rows[k]).prior })
	sum := 0.0
	for k, i := range rows {
		y[k] -= u.trend.at(u.observation(i).prior)
		sum += y[k] * y[k]
	}
	scale := math.Sqrt(sum / float64(len(y)))
	if scale == 0 {
		scale = 1
	}
	for k := range y {
		y[k] /= scale
	}
	u.trend.scale = scale
	u.target /= scale
	return y
}

// prepare brings the model up to date.
func (u *Strategy) prepare() {
	if n := u.seen.len(); len(u.models) == 0 || n >= u.refit {
		u.learn()
		// Lengths stop changing soon.
		u.refit = n + max(n*refitTenths/10, refitLeast)
		switch {
		case n >= narrowFrom:
			u.refit = n + u.cfg.Most/2
		case n > fitMost:
			u.refit = n + n/2
		}
	}
	u.fill()
	y := u.standardise(u.rows)
	var bad []float64
	if u.good < u.seen.len() {
		bad = make([]float64, len(u.rows))
		for k, i := range u.rows {
			if math.IsInf(u.seen.cost(i), 1) {
				bad[k] = 1
			}
		}
	}
	for k := range u.models {
		m := &u.models[k]
		m.z = m.whiten(y)
		m.signal = math.Sqrt(spread(m.z))
		m.zBad = nil
		if bad != nil {
			m.zBad = m.whiten(bad)
		}
	}
	for _, c := range u.pool {
		u.update(c)
		for k, m := range u.models {
			w := &c.views[k]
			w.mean = u.trend.at(c.prior)/u.trend.scale + linear.Dot(w.v[:len(m.z)], m.z)
			w.bad = 0
			if m.zBad != nil {
				w.bad = min(max(linear.Dot(w.v[:len(m.z)], m.zBad), 0), 1)
			}
		}
	}
}

// learn chooses what the process observes, and fits its hyper-parameters.
func (u *Strategy) learn() {
	clear(u.used)
	u.rows = u.sample(u.cfg.Most*3/4, u.seen.len() > u.cfg.Most)
	some := u.sample(fitMost, u.seen.len() > fitMost)
	x := make([][]float64, len(some))
	for k, i := range some {
		x[k] = u.observation(i).x
	}
	steps := firstSteps
	if len(u.models) > 0 && len(some) >= laterFrom {
		steps = laterSteps
	}
	y := u.standardise(some)
	u.hyper = fit(x, y, u.enc.group, u.belief, u.hyper, steps)
	hypers := []hyper{u.hyper}
	if u.seen.len() <= u.cfg.SampledUntil && u.cfg.Samples > 1 {
		hypers = sampleHypers(x, y, u.enc.group, u.belief, u.hyper, u.cfg.Samples, u.rng)
	}
	u.models = u.models[:0]
	for _, h := range hypers {
		m := model{process: newProcess(u.enc.group, h)}
		for _, i := range u.rows {
			m.observe(m.scaled(u.observation(i).x))
		}
		u.models = append(u.models, m)
	}
	for _, c := range u.pool {
		u.admit(c)
	}
	clear(u.around)
	clear(u.climbed)
	// Until they are evaluated by the model they count as promising: they replace less promising candidates, and where the pool
	// climbs, it climbs from the first two of them.
	for _, p := range u.recall {
		u.add(p)
	}
}

// sample lists n observations, half of them the best, the others at random; or all.
func (u *Strategy) sample(n int, part bool) []int {
	order := u.seen.ranked()
	if part {
		rest := order[n/2:]
		u.rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		order = order[:n]
	}
	slices.Sort(order)
	rows := make([]int, len(order))
	for k, i := range order {
		rows[k] = int(i)
	}
	return rows
}

// admit computes a candidate's features and predictions for a new process.
func (u *Strategy) admit(c *candidate) {
	c.views = slices.Grow(c.views[:0], len(u.models))[:len(u.models)]
	for k, m := range u.models {
		c.views[k] = view{scaled: m.scaled(c.x), v: c.views[k].v[:0]}
	}
	u.update(c)
}

// surround adds neighbours of a point to the pool, all of them or a limited number.
func (u *Strategy) surround(p space.Point, most int) {
	near := u.space.Neighbours(p, space.AnyValue)
	if len(near) > most {
		u.rng.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
		near = near[:most]
	}
	for _, q := range near {
		u.add(q)
	}
}

// mutate adds random points to the pool that differ from a point in one to three parameters, and in the parameters that become
// active or inactive by that.
func (u *Strategy) mutate(p space.Point) {
	for range mutants {
		q, ok := u.space.Neighbour(p, space.Pairs, u.rng)
		if ok && u.rng.IntN(2) == 0 {
			q, ok = u.space.Neighbour(q, space.AnyValue, u.rng)
		}
		if ok {
			u.add(q)
		}
	}
}

// add puts a point into the pool.
func (u *Strategy) add(p space.Point) {
	if u.fresh.Seen(p) {
		return
	}
	key := p.Key()
	if u.pooled[key] {
		return
	}
	u.pooled[key] = true
	c := &candidate{point: p, key: key, x: u.enc.encode(p)}
	c.prior = u.prior.at(p, c.x)
	u.admit(c)
	u.pool = append(u.pool, c)
}

// fill replaces the least promising candidates, and those that were asked for in the meantime.
func (u *Strategy) fill() {
	if len(u.gone) > 0 {
		u.pool = slices.DeleteFunc(u.pool, func(c *candidate) bool { return u.gone[c.key] })
		clear(u.gone)
	}
	size := u.cfg.Pool
	if n, ok := u.space.Len(); ok && n <= uint64(size) {
		if !u.whole {
			u.whole = true
			for i := range n {
				u.add(u.space.At(i))
			}
		}
		return
	}
	if u.seen.len() >= narrowFrom {
		size = max(size/2, 1)
	}
	var promising []*candidate
	if keep := int((1 - stream) * float64(size)); len(u.pool) > keep {
		slices.SortStableFunc(u.pool, func(a, b *candidate) int { return cmp.Compare(b.promise, a.promise) })
		for _, c := range u.pool[keep:] {
			delete(u.pooled, c.key)
		}
		u.pool = u.pool[:keep]
		if u.seen.len() <= climbUntil {
			promising = slices.Clone(u.pool[:min(climbed, keep)])
		}
	}
	for _, n := range u.seen.top[:min(elites, u.good)] {
		i := int(n)
		if u.around[i] {
			continue
		}
		u.around[i] = true
		u.surround(u.seen.point(i), mostNeighbours)
	}
	for _, c := range promising {
		if !u.climbed[c.key] {
			u.climbed[c.key] = true
			u.surround(c.point, mostAhead)
		}
	}
	if u.intensify() {
		u.mutate(u.incumbent)
	}
	for misses := 0; misses < mostMisses && len(u.pool) < size; misses++ {
		p, err := u.space.Sample(u.rng)
		if err != nil {
			break
		}
		before := len(u.pool)
		if u.add(p); len(u.pool) > before {
			misses = -1
		}
	}
}

// intensify reports whether points are sought near the best one, apart from those that are sought far from it.
func (u *Strategy) intensify() bool {
	return u.local && u.seen.len() >= u.cfg.NearFrom && u.seen.len() < u.cfg.Early
}

// ring returns in how many parameters the next point is to differ from the best one.
func (u *Strategy) ring() (least, most int) {
	n := u.seen.len()
	switch {
	case n >= roamFrom && n < u.cfg.Early && u.picked%roamEvery == 0:
		return roamFar, len(u.enc.params)
	case u.intensify():
		return 0, near
	}
	return 0, len(u.enc.params)
}

// pick takes the most promising candidate out of the pool, preferring those in the ring; nil where the pool is empty.
func (u *Strategy) pick() *candidate {
	u.picked++
	least, most := u.ring()
	best, inside := -1, -1
	for i, c := range u.pool {
		c.promise = u.promise(c)
		if best < 0 || c.promise > u.pool[best].promise {
			best = i
		}
		if inside < 0 || c.promise > u.pool[inside].promise {
			if d := u.differ(c.point); d >= least && d <= most {
				inside = i
			}
		}
	}
	if best < 0 {
		return nil
	}
	if inside >= 0 {
		best = inside
	}
	c := u.pool[best]
	u.pool = slices.Delete(u.pool, best, best+1)
	delete(u.pooled, c.key)
	return c
}

// differ returns in how many parameters a point differs from the best one.
func (u *Strategy) differ(p space.Point) int {
	n := 0
	for i := range u.enc.params {
		if p.Ordinal(i) != u.incumbent.Ordinal(i) {
			n++
		}
	}
	return n
}

// promise is the logarithm of the expected improvement, summed over the models.
func (u *Strategy) promise(c *candidate) float64 {
	sum := 0.0
	for k := range u.models {
		if z, deviation, right := u.view(c, k); z > farOut {
			sum += expected(z) * deviation * right
		}
	}
	if sum > 0 {
		return math.Log(sum)
	}
	// Where all models expect too little to compute, the largest expectation stands for the sum.
	most := math.Inf(-1)
	for k := range u.models {
		z, deviation, right := u.view(c, k)
		most = max(most, logExpected(z)+math.Log(deviation)+math.Log(right))
	}
	return most
}

// view returns the prediction of model k for a candidate: by how many standard deviations it should be better than the best seen,
// that deviation, and the probability that it is right.
func (u *Strategy) view(c *candidate, k int) (z, deviation, right float64) {
	w := &c.views[k]
	deviation = u.models[k].signal * math.Sqrt(max(1-w.explained, leastVariance))
	return (u.target - w.mean) / deviation, deviation, max(1-w.bad, leastRight)
}

// farOut is the value below which the expected improvement of a standard normal variable is too small to compute by its
// definition.
const farOut = -5

// expected is φ(z) + z·Φ(z), the expected improvement of a standard normal variable on −z.
func expected(z float64) float64 {
	return math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) + z*0.5*math.Erfc(-z/math.Sqrt2)
}

// logExpected is the logarithm of expected; below farOut it is that of the leading term (Ament et al., "Unexpected improvements
// to expected improvement", 2023).
func logExpected(z float64) float64 {
	if z > farOut {
		return math.Log(expected(z))
	}
	return -z*z/2 - math.Log(math.Sqrt(2*math.Pi)) - 2*math.Log(-z)
}
