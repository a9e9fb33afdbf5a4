// Package diffevo is differential evolution over the ordinals of a space. Each member of the population is challenged by a mix of
// itself, the best member and the difference of two others. A challenger that is no worse takes the member's place.
//
// Storn and Price, "Differential evolution", Journal of Global Optimization 11, 1997; the form is current-to-best/1/bin with a
// random scale factor (dither). Coordinates are ordinals scaled to 0 to 1, also those of words and booleans; a vector stands for
// the valid unseen point near it.
package diffevo

import (
	"math/rand/v2"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Population int     // members; default 16, at least 4
	Batch      int     // challengers in a batch, at most Population; default 8
	Crossover  float64 // share of coordinates that a challenger takes from the mix; default 0.7
	Scale      float64 // mean factor of differences; default 0.6
	Patience   int     // batches without any success before all but the best are replaced; default 8
	// Start are points that the population begins with.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("population", "members", 16, 4, 10000, func(c *Config) *int { return &c.Population }),
		constant.NewInt("batch", "challengers in a batch, at most the population", 8, 1, 10000, func(c *Config) *int { return &c.Batch }).Within("population", 0),
		constant.NewFloat("crossover", "share of coordinates that a challenger takes from the mix", 0.7, 0.01, 1, func(c *Config) *float64 { return &c.Crossover }),
		constant.NewFloat("scale", "mean factor of the differences between members", 0.6, 0.01, 10, func(c *Config) *float64 { return &c.Scale }),
		constant.NewInt("patience", "batches without any success before all members but the best are replaced", 8, 1, 100000, func(c *Config) *int { return &c.Patience }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("diffevo", &c) }

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("diffevo", &c); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x64696666))
	return &Strategy{cfg: c, rng: rng, code: code.New(s, seed, rng, c.Start, c.Fresh)}, nil
}

type member struct {
	x    []float64
	cost float64
}

// Strategy is the search. It also learns from points that others asked for.
type Strategy struct {
	cfg  Config
	rng  *rand.Rand
	code *code.Code

	members []member
	next    int   // the member that is challenged next
	against []int // the member that each point of the batch challenges; -1 for a newcomer
	stale   int   // batches without success
}

// Ask proposes challengers of the next members, or newcomers until the population is complete.
func (d *Strategy) Ask(p space.Progress) []space.Proposal {
	if d.stale >= d.cfg.Patience && len(d.members) > 0 {
		d.stale, d.next = 0, 0
		d.members = []member{d.members[d.best()]}
	}
	d.against = d.against[:0]
	size, missing := d.cfg.Batch, d.cfg.Population-len(d.members)
	if missing > 0 {
		size = min(size, missing)
	}
	return search.Take(size, p, func() (space.Point, bool) {
		if missing > 0 {
			d.against = append(d.against, -1)
			return d.code.Newcomer()
		}
		k := d.next % len(d.members)
		d.next++
		d.against = append(d.against, k)
		return d.code.Unseen(d.code.Ordinals(d.mix(k)))
	})
}

func (d *Strategy) best() int {
	best := 0
	for i, m := range d.members {
		if m.cost < d.members[best].cost {
			best = i
		}
	}
	return best
}

// leastDither is the least value of the random factor of the scale. The largest is 1 more, so that the mean is 1.
const leastDither = 0.5

// mix returns the challenger of member k.
func (d *Strategy) mix(k int) []float64 {
	n := len(d.members)
	a := (k + 1 + d.rng.IntN(n-1)) % n
	b := a
	for b == a || b == k {
		b = d.rng.IntN(n)
	}
	f := d.cfg.Scale * (leastDither + d.rng.Float64())
	x, best := append([]float64(nil), d.members[k].x...), d.members[d.best()].x
	certain := d.rng.IntN(len(x))
	for i := range x {
		if i == certain || d.rng.Float64() < d.cfg.Crossover {
			x[i] += f*(best[i]-x[i]) + f*(d.members[a].x[i]-d.members[b].x[i])
		}
	}
	return x
}

// Tell lets successful challengers replace their members.
func (d *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	success := false
	for i, t := range trials {
		m := member{d.code.Vector(t.Point), space.Objective{}.Value(outcomes[i])}
		switch k := d.against[i]; {
		case k < 0:
			d.members, success = append(d.members, m), true
		case m.cost <= d.members[k].cost:
			success = success || m.cost < d.members[k].cost
			d.members[k] = m
		}
	}
	if d.stale++; success {
		d.stale = 0
	}
}

// Learn learns from outcomes that another strategy asked for: one that is better than the worst member replaces it.
func (d *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		m := member{d.code.Vector(t.Point), space.Objective{}.Value(outcomes[i])}
		if len(d.members) < d.cfg.Population {
			d.members = append(d.members, m)
			continue
		}
		worst := 0
		for k := range d.members {
			if d.members[k].cost >= d.members[worst].cost {
				worst = k
			}
		}
		if m.cost < d.members[worst].cost {
			d.members[worst] = m
		}
	}
}
