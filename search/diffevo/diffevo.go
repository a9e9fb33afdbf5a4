// Package diffevo is differential evolution over the ordinals of a space: a member of the population is challenged by
// a mix of itself with the best and the difference of two others, and gives way to a challenger that is no worse.
//
// Storn and Price, "Differential evolution", Journal of Global Optimization 11, 1997; the form is
// current-to-best/1/bin with a random scale factor (dither). Coordinates are places in the domains from 0 to 1, words
// and booleans by their ordinal as well; a vector stands for the valid unseen point that is near to it.
package diffevo

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tune/search"
	"tune/search/code"
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
	// Fresh has the points that were not asked yet, where several strategies share them; nil for one of its own.
	Fresh *search.Fresh
}

func (c Config) withDefaults() Config {
	if c.Population == 0 {
		c.Population = 16
	}
	if c.Batch == 0 {
		c.Batch = min(8, c.Population)
	}
	if c.Crossover == 0 {
		c.Crossover = 0.7
	}
	if c.Scale == 0 {
		c.Scale = 0.6
	}
	if c.Patience == 0 {
		c.Patience = 8
	}
	return c
}

// Validate reports hyper-parameters that cannot work together.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Population < 4:
		return fmt.Errorf("diffevo: population is %d: want 4 or more", c.Population)
	case c.Batch < 1 || c.Batch > c.Population:
		return fmt.Errorf("diffevo: batch is %d: want 1 to the population, %d", c.Batch, c.Population)
	case !(c.Crossover > 0 && c.Crossover <= 1):
		return fmt.Errorf("diffevo: crossover is %v: want more than 0, and 1 at most", c.Crossover)
	case !(c.Scale > 0) || math.IsInf(c.Scale, 1):
		return fmt.Errorf("diffevo: scale is %v: want a finite number above 0", c.Scale)
	case c.Patience < 1:
		return fmt.Errorf("diffevo: patience is %d: want 1 or more", c.Patience)
	}
	return nil
}

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x64696666))
	return &Strategy{cfg: c.withDefaults(), rng: rng, code: code.New(s, seed, rng, c.Start, c.Fresh)}, nil
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
	against []int // the member that each point of the batch challenges; -1 for newcomers
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

// mix returns the challenger of member k.
func (d *Strategy) mix(k int) []float64 {
	n := len(d.members)
	a := (k + 1 + d.rng.IntN(n-1)) % n
	b := a
	for b == a || b == k {
		b = d.rng.IntN(n)
	}
	f := d.cfg.Scale * (0.5 + d.rng.Float64())
	x, best := append([]float64(nil), d.members[k].x...), d.members[d.best()].x
	certain := d.rng.IntN(len(x))
	for i := range x {
		if i == certain || d.rng.Float64() < d.cfg.Crossover {
			x[i] += f*(best[i]-x[i]) + f*(d.members[a].x[i]-d.members[b].x[i])
		}
	}
	return x
}

// Tell lets challengers take their places.
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

// Learn hears of outcomes that another strategy asked for: what is better than the worst member takes its place.
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
