package bench

import (
	"context"

	"tune/kernels"
	"tune/search"
	"tune/search/halving"
	"tune/search/strategies"
	"tune/space"
)

// step is a trial and its outcome.
type step struct {
	point   space.Point
	outcome space.Outcome // without a status where the search ended before it was known
}

// trace runs a strategy on an evaluator, and returns the trials in the order asked.
func trace(ctx context.Context, s search.Strategy, e search.Evaluator, set search.Settings) ([]step, error) {
	var steps []step
	set.Observe = func(e search.Event) {
		for len(steps) <= e.Trial.Number {
			steps = append(steps, step{})
		}
		steps[e.Trial.Number] = step{e.Trial.Point, e.Outcome}
	}
	result, err := search.Run(ctx, s, e, set)
	if err == nil && result.Stop == search.Interrupted {
		err = context.Cause(ctx)
	}
	return steps, err
}

// StrategyOf makes the strategy for a run of a problem with no hints but the problem's own points.
func StrategyOf(entry strategies.Strategy, p kernels.Problem, seed uint64) (search.Strategy, error) {
	traits := p.Traits()
	return entry.Make(p.Space(), seed, strategies.Hints{First: kernels.Firsts(p), Start: kernels.Starts(p)}, halving.Config{Levels: traits.Levels, Blind: traits.Blind})
}
