// Package surrogate searches with a model: a Gaussian process learns the costs seen so far, and proposes the points with the
// largest expected improvement (Jones, Schonlau and Welch, "Efficient global optimization of expensive black-box functions",
// 1998; for kernels Willemsen, van Nieuwpoort and van Werkhoven, "Bayesian optimization for auto-tuning GPU kernels", 2021).
//
//  1. The first points are known good ones, the best of other runs, the middle of the space, and some points that are
//     far from each other and have aligned values.
//  2. The model learns the logarithm of the cost, flattened where it is bad. It is a sum of functions of one parameter
//     each and one function of all parameters. It learns which parameters matter as well: often at first, then ever
//     more seldom. While little is known, several sets of hyper-parameters are sampled from their posterior, and their
//     expectations are averaged (Snoek, Larochelle and Adams, "Practical Bayesian optimization of machine learning
//     algorithms", 2012). What other runs measured is the prior mean; from 48 to 150 evaluations, only what they say
//     about bad points is used.
//  3. A pool of candidates holds the neighbours of the best points and of the most promising candidates, the best
//     points of other runs, and a stream of random points; or, in a small space, all points. The strategy asks for the
//     candidate of the pool with the largest expected improvement, discounted by the probability that it fails, which
//     the same process learns. While little is known, every fourth point is sought far from the best one. In spaces with
//     a medium number of parameters (9 to 16), random points near the best one are added to the pool from 64 to 150
//     evaluations, and the other three points are sought near it.
//  4. Within a batch the model treats each point that was asked for as observed, so that it seeks the next one elsewhere
//     (Desautels, Krause and Burdick, "Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit
//     optimization", 2014).
//
// The work is bounded: where there are many points, the process observes the best ones and a sample of the others.
package surrogate

import (
	"math"
	"math/rand/v2"
	"slices"

	"tune/internal/linear"
	"tune/search"
	"tune/search/constant"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Initial int // points before the model is used; default 6, at least 2
	Batch   int // points in a batch; default 2 up to 64 evaluations, then 4, and 8 from 512 on
	Pool    int // candidates in the pool, half as many from 512 evaluations on; default 1000
	Most    int // points that the process is fitted to at once; default 200, at least 16
	// Samples is how many sets of hyper-parameters the expected improvement is averaged over, up to SampledUntil evaluations;
	// default 8. 1 uses the most probable set alone.
	Samples      int
	SampledUntil int // default 64
	// Early is the number of evaluations up to which some points are sought far from the best one and others near it, and up to
	// which the sources do not rank their best points; default 150.
	Early int
	// From NearFrom evaluations on, points are sought near the best one, where the number of parameters with a choice is from
	// NearLeast to NearMost; default 64, 9 and 16.
	NearFrom, NearLeast, NearMost int
	// NoCentre leaves the middle of the space out of the first points.
	NoCentre bool
	// Start are points to begin with.
	Start []space.Point
	// Sources are what earlier runs measured. The best points of each are asked for first, and their costs are the prior mean of
	// the model, with a learned weight: a source that mispredicts loses weight. From 48 to 150 evaluations a source does not say
	// which of its better points is the best.
	Sources []space.Source
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("initial", "points before the model is asked", initialPoints, 2, 1000, func(c *Config) *int { return &c.Initial }),
		constant.NewInt("batch", "points in a batch; 0 for 2, 4 from 64 evaluations on, and 8 from 512 on", 0, 0, 1000, func(c *Config) *int { return &c.Batch }),
		constant.NewInt("pool", "candidates whose expected improvement is computed, half as many from 512 evaluations on", poolSize, 1, 10000, func(c *Config) *int { return &c.Pool }),
		constant.NewInt("most", "points that the process is fitted to at once", observedMost, 16, 1000, func(c *Config) *int { return &c.Most }),
		constant.NewInt("samples", "sets of hyper-parameters that the expected improvement is averaged over while little is known; 1 for only the most probable set", sampleCount, 1, 32, func(c *Config) *int { return &c.Samples }),
		constant.NewInt("sampled_until", "evaluations up to which the hyper-parameters are sampled", sampledUntil, 2, 1000, func(c *Config) *int { return &c.SampledUntil }),
		constant.NewInt("early", "evaluations up to which some points are sought far from the best one, others near it, and the best points of sources count as equally good", earlyUntil, 1, 1000000, func(c *Config) *int { return &c.Early }),
		constant.NewInt("near_from", "evaluations from which on points are sought near the best one, in spaces of near_least to near_most parameters", nearFrom, 1, 1000000, func(c *Config) *int { return &c.NearFrom }),
		constant.NewInt("near_least", "least number of parameters with a choice at which points are sought near the best one", manyFrom, 1, 10000, func(c *Config) *int { return &c.NearLeast }),
		constant.NewInt("near_most", "largest number of parameters with a choice at which points are sought near the best one", manyTo, 1, 10000, func(c *Config) *int { return &c.NearMost }),
		constant.NewBool("centre", "whether the middle of the space is among the first points", true, func(c *Config) *bool { return &c.NoCentre }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("surrogate", &c) }

// Strategy is the search with a model. It also learns from points that others asked for.
type Strategy struct {
	cfg   Config
	space *space.Space
	enc   *encoder
	rng   *rand.Rand
	fresh *search.Fresh
	first []space.Point // to ask before any other, in this order
	prior *priors

	seen      seen
	good      int         // how many of them are right
	best      int         // the right one that costs least; -1 before the first
	incumbent space.Point // of best

	models []model
	belief belief
	hyper  hyper               // where the next search for hyper-parameters starts
	rows   []int               // numbers in seen, for each row of the processes that is not a guess
	used   map[int]observation // what the model looked at since the last fit, by number
	refit  int                 // observations at which the hyper-parameters are learned again

	pool   []*candidate
	pooled map[string]bool // keys of the pool
	gone   map[string]bool // keys of candidates that others asked for
	whole  bool            // the pool began with all points of the space
	// What has had its neighbours added to the pool since the last fit: observations, and candidates by their keys.
	around  map[int]bool
	climbed map[string]bool
	recall  []space.Point // the best of the sources, for the pool
	target  float64       // the least value seen
	picked  int           // candidates picked so far
	local   bool          // whether points near the best one are sought, by the number of parameters
	trend   trend
}

// model is a process with one sample of the hyper-parameters.
type model struct {
	*process
	signal  float64   // standard deviation
	z, zBad []float64 // whitened values and failures; zBad is nil where nothing failed
}

// observation is an observed point in the terms of the model.
type observation struct {
	x     []float64
	prior []float64 // what each source says of it
}

// candidate is a point of the pool.
type candidate struct {
	point   space.Point
	key     string
	x       []float64
	prior   []float64
	views   []view // one of each model
	promise float64
}

// view is what one model says of a candidate.
type view struct {
	scaled    []float64
	v         []float64 // solution of L·v = k(candidate, observed)
	explained float64   // v·v: the variance that the observations explain
	mean      float64
	bad       float64 // probability of failing
}

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("surrogate", &c); err != nil {
		return nil, err
	}
	u := &Strategy{
		cfg: c, space: s, enc: newEncoder(s), rng: rand.New(rand.NewPCG(seed, 0x73757272)), fresh: c.Fresh, best: -1,
		pooled: map[string]bool{}, around: map[int]bool{}, gone: map[string]bool{}, climbed: map[string]bool{},
		used: map[int]observation{},
	}
	if u.fresh == nil {
		u.fresh = search.SeededFresh(s, seed)
	}
	u.seen.fresh = u.fresh
	choices := 0
	for _, p := range s.Parameters() {
		if p.Len() > 1 {
			choices++
		}
	}
	u.local = choices >= c.NearLeast && choices <= c.NearMost
	u.belief = newBelief(u.enc.switches)
	u.hyper = u.belief.hyper()
	u.prior = newPriors(s, u.enc, c.Sources)
	remembered := int(recall * float64(c.Pool))
	leaders := search.Leaders(c.Sources, max(remembered, search.MostLeaders))
	u.recall = leaders[:min(remembered, len(leaders))]
	u.first = slices.Concat(c.Start, leaders[:min(search.MostLeaders, len(leaders))])
	if !c.NoCentre {
		u.first = append(u.first, code.Centre(s))
	}
	return u, nil
}

// batch is how many points are asked for at once. As more is known, a batch is a smaller share of it, and its later points lose
// less by being chosen before the outcomes of the earlier ones.
func (u *Strategy) batch() int {
	switch n := u.seen.len(); {
	case u.cfg.Batch > 0:
		return u.cfg.Batch
	case n < smallUntil:
		return smallBatch
	case n < middlingUntil:
		return middlingBatch
	}
	return largeBatch
}

// Ask proposes the most promising points.
func (u *Strategy) Ask(p space.Progress) []space.Proposal {
	if len(u.first) > 0 || u.seen.len() < u.cfg.Initial || u.good < 2 {
		asked := make([][]float64, 0, u.seen.len()+u.batch())
		for i := range u.seen.len() {
			asked = append(asked, u.enc.encode(u.seen.point(i)))
		}
		return search.Take(u.batch(), p, func() (space.Point, bool) {
			point, ok := u.initial(asked)
			if ok {
				asked = append(asked, u.enc.encode(point))
			}
			return point, ok
		})
	}
	u.prepare()
	var last *candidate
	return search.Take(u.batch(), p, func() (space.Point, bool) {
		if last != nil {
			u.guess(last)
		}
		if last = u.pick(); last == nil {
			return u.fresh.Draw()
		}
		u.fresh.Mark(last.point)
		return last.point, true
	})
}

// aligned returns the most aligned of some random points.
func (u *Strategy) aligned() (space.Point, error) {
	best, err := u.space.Sample(u.rng)
	if !u.enc.aligns {
		return best, err
	}
	most := u.enc.alignment(best)
	for range alignedOf - 1 {
		p, err := u.space.Sample(u.rng)
		if err != nil {
			return p, err
		}
		if a := u.enc.alignment(p); a > most {
			best, most = p, a
		}
	}
	return best, nil
}

// initial returns the next of the first points.
func (u *Strategy) initial(asked [][]float64) (space.Point, bool) {
	for len(u.first) > 0 {
		p := u.first[0]
		u.first = u.first[1:]
		if u.fresh.Mark(p) {
			return p, true
		}
	}
	var far space.Point
	most := -1.0
	for range spreadOver {
		p, err := u.aligned()
		if err != nil {
			break
		}
		if u.fresh.Seen(p) {
			continue
		}
		x, d := u.enc.encode(p), math.Inf(1)
		for _, y := range asked {
			d = min(d, squared(x, y))
		}
		if d > most {
			far, most = p, d
		}
	}
	if most < 0 {
		return u.fresh.Draw()
	}
	u.fresh.Mark(far)
	return far, true
}

// Tell learns the outcomes of the last batch.
func (u *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	// All guesses are known by now, apart from the values; a batch that was cut short leaves guesses behind.
	u.forget(len(u.rows) + len(trials))
	u.Learn(trials, outcomes)
}

// Learn hears of outcomes that another strategy asked for. It is called at a barrier, after Tell.
func (u *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		cost := space.Objective{}.Value(outcomes[i])
		u.seen.add(t.Point, cost)
		if key := t.Point.Key(); u.pooled[key] {
			delete(u.pooled, key)
			u.gone[key] = true
		}
		n := u.seen.len() - 1
		if !math.IsInf(cost, 1) {
			u.good++
			if u.best < 0 || cost < u.seen.cost(u.best) {
				u.best, u.incumbent = n, t.Point
			}
		}
		if len(u.models) > 0 {
			if len(u.models[0].x) == len(u.rows) {
				x := u.observation(n).x
				for _, m := range u.models {
					m.observe(m.scaled(x))
				}
			}
			u.rows = append(u.rows, n)
		}
	}
}

// forget drops all rows of the processes after the first n.
func (u *Strategy) forget(n int) {
	if len(u.models) == 0 || n >= len(u.models[0].x) {
		return
	}
	for _, m := range u.models {
		m.x, m.chol = m.x[:n], m.chol[:n]
	}
	for _, c := range u.pool {
		for k := range c.views {
			if w := &c.views[k]; n < len(w.v) {
				w.v = w.v[:n]
				w.explained = linear.Dot(w.v, w.v)
			}
		}
	}
}

// guess treats the point of a candidate as observed, whatever its value.
func (u *Strategy) guess(c *candidate) {
	for k, m := range u.models {
		m.observe(c.views[k].scaled)
	}
	for _, c := range u.pool {
		u.update(c)
	}
}

// update extends the predictions for a candidate to all rows of the processes.
func (u *Strategy) update(c *candidate) {
	for k := range c.views {
		w := &c.views[k]
		n := len(w.v)
		w.v = u.models[k].project(w.scaled, w.v)
		for _, t := range w.v[n:] {
			w.explained += t * t
		}
	}
}
