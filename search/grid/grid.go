// Package grid searches exhaustively: every point of the space, in its canonical order.
package grid

import (
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
func (c Config) Validate() error { return Constants().Settle("grid", &c) }

// New returns the exhaustive strategy.
func New(s *space.Space) search.Strategy {
	return &grid{BatchSize, search.InOrder(s)}
}

// New is the function New with hyper-parameters of its own.
func (c Config) New(s *space.Space) (search.Strategy, error) {
	if err := Constants().Settle("grid", &c); err != nil {
		return nil, err
	}
	return &grid{c.Batch, search.InOrder(s)}, nil
}

type grid struct {
	batch int
	next  func() (space.Point, bool)
}

// Ask returns the next points in order.
func (g *grid) Ask(p space.Progress) []space.Proposal {
	return search.Take(g.batch, p, g.next)
}

// Tell learns nothing: the order is fixed.
func (g *grid) Tell([]space.Trial, []space.Outcome) {}
