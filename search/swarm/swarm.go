// Package swarm is particle swarm optimisation over the ordinals of a space: each particle is drawn to its own best point and to
// the best point of all.
//
// Kennedy and Eberhart, "Particle swarm optimization", 1995, with the inertia and weights of Clerc and Kennedy's constriction,
// 2002. Coordinates are ordinals scaled to 0 to 1, also those of words and booleans; a position stands for the valid unseen point
// near it.
package swarm

import (
	"math"
	"math/rand/v2"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Particles int     // default 16
	Batch     int     // particles that move in a batch, at most Particles; default 8
	Inertia   float64 // share of a velocity that is kept; default 0.73
	Own, All  float64 // weights of a particle's best point and of the best of all; default 1.5 each
	Patience  int     // batches without a better point before the particles scatter; default 12
	// Start are points where the particles start.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("particles", "particles", 16, 1, 10000, func(c *Config) *int { return &c.Particles }),
		constant.NewInt("batch", "particles that move in a batch, at most all of them", 8, 1, 10000, func(c *Config) *int { return &c.Batch }).Within("particles", 0),
		constant.NewFloat("inertia", "share of a velocity that is kept", 0.73, 0.01, 0.9999, func(c *Config) *float64 { return &c.Inertia }),
		constant.NewFloat("own", "weight of a particle's own best point", 1.5, 0.01, 100, func(c *Config) *float64 { return &c.Own }),
		constant.NewFloat("all", "weight of the best point of all", 1.5, 0.01, 100, func(c *Config) *float64 { return &c.All }),
		constant.NewInt("patience", "batches without a better point before the particles scatter", 12, 1, 100000, func(c *Config) *int { return &c.Patience }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("swarm", &c) }

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("swarm", &c); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x7377726D))
	w := &Strategy{cfg: c, rng: rng, code: code.New(s, seed, rng, c.Start, c.Fresh), cost: math.Inf(1)}
	w.particles = make([]particle, w.cfg.Particles)
	return w, nil
}

// particle has no position before its first outcome, nor after it was scattered.
type particle struct {
	x, velocity, best []float64
	cost              float64
}

// Strategy is the search. It also learns from points that others asked for.
type Strategy struct {
	cfg  Config
	rng  *rand.Rand
	code *code.Code

	particles []particle
	next      int   // the particle that moves next
	moved     []int // those of the batch
	best      []float64
	cost      float64
	stale     int // batches without a better point
}

// Ask moves the next particles.
func (w *Strategy) Ask(p space.Progress) []space.Proposal {
	if w.stale >= w.cfg.Patience {
		w.stale = 0
		clear(w.particles)
	}
	w.moved = w.moved[:0]
	return search.Take(w.cfg.Batch, p, func() (space.Point, bool) {
		k := w.next % len(w.particles)
		w.next++
		w.moved = append(w.moved, k)
		part := &w.particles[k]
		if part.x == nil {
			return w.code.Newcomer()
		}
		w.fly(part)
		return w.code.Unseen(w.code.Ordinals(part.x))
	})
}

// fly moves a particle within the bounds. At a bound it stops.
func (w *Strategy) fly(p *particle) {
	for i := range p.x {
		all := p.best[i]
		if w.best != nil {
			all = w.best[i]
		}
		p.velocity[i] = w.cfg.Inertia*p.velocity[i] +
			w.cfg.Own*w.rng.Float64()*(p.best[i]-p.x[i]) + w.cfg.All*w.rng.Float64()*(all-p.x[i])
		p.x[i] += p.velocity[i]
		if p.x[i] < 0 || p.x[i] > 1 {
			p.x[i], p.velocity[i] = min(max(p.x[i], 0), 1), 0
		}
	}
}

// firstPace divides the initial velocities, which are drawn from -1/2 to 1/2 of a domain. It was chosen by hand.
const firstPace = 2

// Tell updates the best points. A particle continues from the point that was evaluated for it.
func (w *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	w.stale++
	for i, t := range trials {
		p, x, cost := &w.particles[w.moved[i]], w.code.Vector(t.Point), space.Objective{}.Value(outcomes[i])
		if p.x == nil {
			*p = particle{velocity: make([]float64, len(x)), best: x, cost: cost}
			for k := range x {
				p.velocity[k] = (w.rng.Float64() - 0.5) / firstPace
			}
		}
		p.x = append(p.x[:0], x...)
		if cost < p.cost {
			p.best, p.cost = x, cost
		}
		if cost < w.cost {
			w.best, w.cost, w.stale = x, cost, 0
		}
	}
}

// Learn learns from outcomes that another strategy asked for: a better one replaces the best point of the particle whose best is
// worst.
func (w *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		x, cost := w.code.Vector(t.Point), space.Objective{}.Value(outcomes[i])
		worst := -1
		for k, p := range w.particles {
			if p.x != nil && (worst < 0 || p.cost >= w.particles[worst].cost) {
				worst = k
			}
		}
		if worst >= 0 && cost < w.particles[worst].cost {
			p := &w.particles[worst]
			p.best, p.cost = x, cost
			p.x = append(p.x[:0], x...)
		}
		if cost < w.cost {
			w.best, w.cost, w.stale = x, cost, 0
		}
	}
}
