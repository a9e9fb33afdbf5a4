// Package anneal is simulated annealing: several chains walk from neighbour to neighbour. A chain accepts a worse point with a
// probability that falls with the difference and with time, and restarts when it is frozen.
//
// Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983. The temperature is relative to the
// spread of the costs seen so far, so that it suits any unit. A chain that reaches a point whose cost is known continues without
// an evaluation.
package anneal

import (
	"math"
	"math/rand/v2"
	"slices"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Chains      int     // chains that walk side by side, and points in a batch; default 3
	Temperature float64 // at the start of a walk, in quartile distances of the costs seen; default 0.3
	Cooling     float64 // the temperature is multiplied by this at each evaluation of a chain; default 0.95
	Patience    int     // evaluations of a chain without a better point before it restarts; default 40
	Kick        int     // parameters that change where a walk starts near the best point of all; default 3
	// Start are points that the chains begin with.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("chains", "walks side by side, and points in a batch", 3, 1, 1000, func(c *Config) *int { return &c.Chains }),
		constant.NewFloat("temperature", "temperature at the start of a walk, in quartile distances of the costs seen", 0.3, 0.001, 1000, func(c *Config) *float64 { return &c.Temperature }),
		constant.NewFloat("cooling", "factor of the temperature at each evaluation of a walk", 0.95, 0.01, 0.9999, func(c *Config) *float64 { return &c.Cooling }),
		constant.NewInt("patience", "evaluations of a walk without a better point before it starts anew", 40, 1, 1000000, func(c *Config) *int { return &c.Patience }),
		constant.NewInt("kick", "parameters that change where a walk starts near the best point of all", 3, 1, 1000, func(c *Config) *int { return &c.Kick }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("anneal", &c) }

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("anneal", &c); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x616E6E65))
	return &Strategy{
		cfg: c, rng: rng, code: code.New(s, seed, rng, c.Start, c.Fresh),
		chains: make([]chain, c.Chains), best: math.Inf(1),
	}, nil
}

// chain is one walk. Its point is zero before the first and after a restart.
type chain struct {
	at          space.Point
	cost        float64
	best        float64 // of this walk
	temperature float64
	stale       int
}

// Strategy is the search. It also learns from points that others asked for.
type Strategy struct {
	cfg    Config
	rng    *rand.Rand
	code   *code.Code
	sorted []float64 // a sample of the costs seen, ascending
	chains []chain
	starts int // walks begun

	best     float64
	bestAt   space.Point
	proposed []int // the chain of each point of the batch
}

// Ask lets each chain walk to an unknown point.
func (a *Strategy) Ask(p space.Progress) []space.Proposal {
	a.proposed = a.proposed[:0]
	return search.Take(len(a.chains), p, func() (space.Point, bool) {
		k := len(a.proposed)
		a.proposed = append(a.proposed, k)
		return a.walk(&a.chains[k])
	})
}

// homeEvery says that one in so many walks begins near the best point of all. It was chosen by hand.
const homeEvery = 2

// freeSteps is how many steps a chain takes over known points before it goes to an unknown one.
const freeSteps = 64

func (a *Strategy) walk(c *chain) (space.Point, bool) {
	if c.stale >= a.cfg.Patience {
		*c = chain{}
	}
	if c.at.IsZero() {
		a.starts++
		*c = chain{cost: math.Inf(1), best: math.Inf(1), temperature: a.cfg.Temperature}
		if a.starts > a.cfg.Chains && a.starts%homeEvery == 0 && !a.bestAt.IsZero() {
			ords := a.bestAt.Ordinals()
			a.code.Kick(ords, a.cfg.Kick)
			return a.code.Unseen(ords)
		}
		return a.code.Newcomer()
	}
	for range freeSteps {
		next, ok := a.code.Neighbour(c.at)
		if !ok {
			break
		}
		if cost, known := a.code.Known(next); known {
			a.step(c, next, cost)
			continue
		}
		if a.code.Fresh.Mark(next) {
			return next, true
		}
	}
	return a.code.Unseen(c.at.Ordinals())
}

// step moves a chain to a neighbour or rejects that, by the Metropolis rule.
func (a *Strategy) step(c *chain, to space.Point, cost float64) {
	worse := (cost - c.cost) / a.spread()
	if c.at.IsZero() || cost <= c.cost || a.rng.Float64() < math.Exp(-worse/c.temperature) {
		c.at, c.cost = to, cost
	}
}

// spread is the distance from the least cost seen to the lower quartile.
func (a *Strategy) spread() float64 {
	if len(a.sorted) == 0 {
		return 1
	}
	// The costs are halved first, because the difference of two finite costs may overflow.
	if d := 2 * (a.sorted[len(a.sorted)/4]/2 - a.sorted[0]/2); d > 0 {
		return d
	}
	return 1
}

// sampleSize bounds the costs that spread keeps.
const sampleSize = 256

// Tell lets each chain accept or reject its point.
func (a *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		cost := space.Objective{}.Value(outcomes[i])
		a.note(t.Point, outcomes[i])
		c := &a.chains[a.proposed[i]]
		a.step(c, t.Point, cost)
		c.temperature *= a.cfg.Cooling
		c.stale++
		if cost < c.best {
			c.best, c.stale = cost, 0
		}
	}
}

func (a *Strategy) sample(cost float64) {
	if len(a.sorted) == sampleSize {
		// Any value but the least may be dropped.
		k := 1 + a.rng.IntN(sampleSize-1)
		a.sorted = slices.Delete(a.sorted, k, k+1)
	}
	k, _ := slices.BinarySearch(a.sorted, cost)
	a.sorted = slices.Insert(a.sorted, k, cost)
}

// Learn learns from outcomes that another strategy asked for. Where one is the best of all, the chain at the worst point starts a
// walk from there.
func (a *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	before := a.best
	for i, t := range trials {
		a.note(t.Point, outcomes[i])
	}
	if a.best == before {
		return
	}
	worst := 0
	for k, c := range a.chains {
		if w := a.chains[worst]; !w.at.IsZero() && (c.at.IsZero() || c.cost >= w.cost) {
			worst = k
		}
	}
	a.chains[worst] = chain{at: a.bestAt, cost: a.best, best: a.best, temperature: a.cfg.Temperature}
}

// note keeps what is known of a point.
func (a *Strategy) note(p space.Point, o space.Outcome) {
	cost := space.Objective{}.Value(o)
	a.code.Learn(p, cost)
	if o.Status == space.OK {
		a.sample(cost)
	}
	if cost < a.best {
		a.best, a.bestAt = cost, p
	}
}
