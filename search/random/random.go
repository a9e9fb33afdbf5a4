// Package random searches at random: every point of the space once, in an order drawn uniformly.
package random

import (
	"math/rand/v2"

	"tune/search"
	"tune/space"
)

// BatchSize is the number of points in a batch. It bounds what a barrier costs, and changes nothing else.
const BatchSize = 64

// New returns random search without replacement.
func New(s *space.Space, seed uint64) search.Strategy {
	return &random{search.NewFresh(s, rand.New(rand.NewPCG(seed, 0x72616E64)))}
}

type random struct {
	fresh *search.Fresh
}

// Ask draws the next points.
func (r *random) Ask(p space.Progress) []space.Proposal {
	return search.Take(BatchSize, p, r.fresh.Draw)
}

// Tell learns nothing: each draw is independent of the outcomes.
func (r *random) Tell([]space.Trial, []space.Outcome) {}
