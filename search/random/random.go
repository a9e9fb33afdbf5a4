// Package random searches at random: every point of the space once, in an order drawn uniformly.
package random

import (
	"math/rand/v2"

	"tune/search"
	"tune/search/constant"
	"tune/space"
)

// BatchSize is the default number of points in a batch.
const BatchSize = 64

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Batch int // points in a batch; default BatchSize. It limits the overhead of barriers, and changes nothing else
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("batch", "points in a batch: it bounds what a barrier costs, and changes nothing else", BatchSize, 1, 100000, func(c *Config) *int { return &c.Batch }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("random", &c) }

// New returns random search without replacement.
func New(s *space.Space, seed uint64) search.Strategy {
	return newRandom(s, seed, BatchSize)
}

// New is the function New with hyper-parameters of its own.
func (c Config) New(s *space.Space, seed uint64) (search.Strategy, error) {
	if err := Constants().Settle("random", &c); err != nil {
		return nil, err
	}
	return newRandom(s, seed, c.Batch), nil
}

func newRandom(s *space.Space, seed uint64, batch int) search.Strategy {
	return &random{batch, search.NewFresh(s, rand.New(rand.NewPCG(seed, 0x72616E64)))}
}

type random struct {
	batch int
	fresh *search.Fresh
}

// Ask draws the next points.
func (r *random) Ask(p space.Progress) []space.Proposal {
	return search.Take(r.batch, p, r.fresh.Draw)
}

// Tell learns nothing: each draw is independent of the outcomes.
func (r *random) Tell([]space.Trial, []space.Outcome) {}
