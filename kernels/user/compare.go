package user

import (
	"context"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// compare runs finalists and the baseline in turns, each turn in a new process. The machine is checked between rounds.
func (p *commandProblem) compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	all, err := timing.Candidates[*commandCandidate](baseline, finalists)
	if err != nil {
		return kernels.Final{}, err
	}
	s := timing.Series{
		Series: series, Entrants: len(all),
		Turn: func(ctx context.Context, i int) (float64, error) { return all[i].once(ctx) },
	}
	state, err := p.host.Run(ctx, &s)
	if err != nil {
		return kernels.Final{}, err
	}
	final := s.Final()
	final.Machine = state
	for i := range final.Comparisons {
		if c := &final.Comparisons[i]; c.Err == nil && c.Pairs > 0 {
			took := timing.Summarise(s.Costs(i+1), 0)
			c.Metrics = p.metrics(c.Cost, took.Kept, took.Spread)
		}
	}
	return final, nil
}

// metrics returns the metrics for a cost from a number of runs. A number to maximise is the inverse of its cost.
func (p *commandProblem) metrics(cost float64, runs int, spread float64) []space.Metric {
	metrics := []space.Metric{{Name: space.MetricRuns, Value: float64(runs)}, {Name: space.MetricSpread, Value: spread}}
	if p.c.metric.maximise {
		metrics = append(metrics, space.Metric{Name: space.MetricValue, Value: 1 / cost})
	}
	return metrics
}

// once runs the candidate, after building it if necessary, and returns the cost of that run.
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
