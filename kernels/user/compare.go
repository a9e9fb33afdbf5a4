package user

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
)

// measuredProblem is a command whose metric differs from run to run, so that finalists are compared side by side.
type measuredProblem struct{ *commandProblem }

var _ kernels.Comparer = measuredProblem{}

// mostTurns bounds the turns of a comparison, however short the commands are.
const mostTurns = 25

// Compare runs finalists and the baseline in turns, forwards and backwards.
func (p measuredProblem) Compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, limit time.Duration) (kernels.Final, error) {
	deadline := time.Now().Add(limit)
	before := timing.ReadLoad()
	all := make([]*commandCandidate, len(finalists)+1)
	for i, k := range append([]kernels.Candidate{baseline}, finalists...) {
		c, ok := k.(*commandCandidate)
		if !ok {
			return kernels.Final{}, fmt.Errorf("cannot run a candidate of type %T", k)
		}
		all[i] = c
	}
	costs := make([][]float64, len(all))
	errs := make([]error, len(all))
	for turn := range mostTurns {
		late := time.Since(deadline)
		if turn >= timing.LeastPairs && late > 0 || turn > 0 && late > limit {
			break // the latter where the commands are too slow for an interval
		}
		if turn > 0 && late > 0 {
			dropSlower(costs, errs)
		}
		for i := range all {
			if turn%2 == 1 {
				i = len(all) - 1 - i
			}
			if errs[i] != nil {
				continue
			}
			v, err := all[i].once(ctx)
			if err != nil && (i == 0 || kernels.AsRejection(err) == nil) {
				return kernels.Final{}, err
			}
			if errs[i] = err; err == nil {
				costs[i] = append(costs[i], v)
			}
		}
	}
	final := kernels.Final{Best: -1, Comparisons: make([]kernels.Comparison, len(finalists))}
	for i := range finalists {
		c := &final.Comparisons[i]
		if c.Err = errs[i+1]; c.Err != nil && c.Err != errDropped {
			continue
		}
		c.Err = nil
		c.Cost, c.Baseline = median(costs[i+1]), median(costs[0])
		ratio, err := timing.Pairs(costs[0][:len(costs[i+1])], costs[i+1], 0, 0)
		if err != nil {
			// Costs that are not above 0 have no ratio.
			c.Unverified, c.Indistinct = true, true
			continue
		}
		c.Ratio, c.Low, c.High, c.Pairs = ratio.Median, ratio.Low, ratio.High, ratio.Pairs
		if final.Best < 0 || c.Ratio > final.Comparisons[final.Best].Ratio {
			final.Best = i
		}
	}
	for i := range final.Comparisons {
		c := &final.Comparisons[i]
		if c.Err != nil || c.Pairs == 0 {
			continue
		}
		against := costs[0]
		if i != final.Best {
			against = costs[final.Best+1]
		}
		n := min(len(costs[i+1]), len(against))
		ratio, err := timing.Pairs(costs[i+1][:n], against[:n], 0, 0)
		c.Indistinct = err != nil || ratio.Indistinct()
	}
	now := timing.ReadLoad()
	final.Machine.Load = now.OneMin
	final.Machine.Busy, final.Machine.Steal = now.Shares(before)
	return final, nil
}

// errDropped ends a finalist that is behind when there is no time left. It keeps the turns that it had.
var errDropped = errors.New("no time is left")

// dropSlower leaves the baseline, which is the first, and the finalist that is ahead.
func dropSlower(costs [][]float64, errs []error) {
	best := 0
	for i := 1; i < len(costs); i++ {
		if errs[i] == nil && (best == 0 || median(costs[i]) < median(costs[best])) {
			best = i
		}
	}
	for i := 1; i < len(costs); i++ {
		if errs[i] == nil && i != best {
			errs[i] = errDropped
		}
	}
}

// once runs the candidate, built where it has to be, and returns the cost of that run.
func (c *commandCandidate) once(ctx context.Context) (cost float64, err error) {
	err = c.with(ctx, func() error {
		kept := c.samples
		defer func() { c.samples = kept }()
		c.samples = nil
		if err := c.sample(ctx); err != nil {
			return err
		}
		cost, err = c.p.c.metric.cost(c.samples[0])
		return err
	})
	return cost, err
}
