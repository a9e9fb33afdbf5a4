package user

import (
	"context"
	"slices"

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
	if err := p.alike(all); err != nil {
		return kernels.Final{}, err
	}
	readings := make([][]reading, len(all))
	s := timing.Series{
		Series: series, Entrants: len(all),
		Turn: func(ctx context.Context, i int) (float64, error) {
			r, err := all[i].once(ctx)
			if err != nil {
				return 0, err
			}
			readings[i] = append(readings[i], r)
			return p.c.metric.cost(r.value)
		},
	}
	state, err := p.host.Run(ctx, &s, p.c.metric.from == fromTime)
	if err != nil {
		return kernels.Final{}, err
	}
	for i, c := range all {
		if s.Out(i) {
			continue
		}
		switch err := c.inspectLast(ctx); {
		case err != nil && (i == 0 || kernels.AsRejection(err) == nil):
			return kernels.Final{}, err
		case err != nil:
			s.Reject(i, err)
		}
	}
	final := s.Final()
	final.Machine = state
	for i := range final.Comparisons {
		if c := &final.Comparisons[i]; c.Err == nil && c.Pairs > 0 {
			took := timing.Summarise(s.Costs(i+1), 0)
			c.Metrics = slices.Concat(p.metrics(c.Cost, took.Kept, took.Spread), all[i+1].p.otherMetrics(readings[i+1]), outlierMetrics(s.Costs(i+1)))
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

// once runs the candidate, after building it if necessary, and returns what that run says.
func (c *commandCandidate) once(ctx context.Context) (r reading, err error) {
	err = c.with(ctx, func() error {
		r, err = c.turn(ctx)
		return err
	})
	return r, err
}

// turn takes a sample that is used in no score. A run that costs clearly less than those that were checked is checked.
func (c *commandCandidate) turn(ctx context.Context) (reading, error) {
	kept := c.samples
	defer func() { c.samples = kept }()
	c.samples = nil
	if err := c.sample(ctx); err != nil {
		return reading{}, err
	}
	if c.suspect() {
		if err := c.inspectLater(ctx); err != nil {
			return reading{}, err
		}
	}
	return c.samples[0], nil
}

// inspectLast checks the output of the candidate's last turn or, where another build has replaced it, that of one more run.
func (c *commandCandidate) inspectLast(ctx context.Context) error {
	if c.p.c.check == nil {
		return nil
	}
	return c.with(ctx, func() error {
		if !c.ran {
			if _, err := c.turn(ctx); err != nil {
				return err
			}
		}
		return c.inspectLater(ctx)
	})
}
