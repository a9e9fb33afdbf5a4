package user

import (
	"context"
	"slices"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/space"
)

// steady returns a rejection where the sorted numbers of one point differ by more than the file says. The point is not wrong, but its
// number tells nothing.
func (m metric) steady(sorted []float64) error {
	least, most := sorted[0], sorted[len(sorted)-1]
	apart := (most - least) / timing.Median(sorted)
	if m.within == 0 || apart <= m.within {
		return nil
	}
	return kernels.Reject(space.Invalid, "noise: runs of one point gave %v and %v, which differ by %.3g %%, and metric.within allows %.3g %%", least, most, 100*apart, 100*m.within)
}

// compareSteady compares finalists by a metric that is nearly exact. Each runs as often as the file says, in turns with the others.
// What is at most metric.within apart may be equal, so that the interval of a ratio follows from that alone.
func (p *commandProblem) compareSteady(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, series kernels.Series) (kernels.Final, error) {
	all, err := timing.Candidates[*commandCandidate](baseline, finalists)
	if err != nil {
		return kernels.Final{}, err
	}
	if err := p.alike(all); err != nil {
		return kernels.Final{}, err
	}
	readings, errs := make([][]reading, len(all)), make([]error, len(all))
	fail := func(i int, err error) error {
		if i == 0 || kernels.AsRejection(err) == nil {
			return err
		}
		errs[i] = err
		return nil
	}
	rounds := p.c.metric.repeats
	for round := range rounds {
		if series.Observe != nil {
			series.Observe(round+1, rounds)
		}
		for i, c := range all {
			if errs[i] != nil {
				continue
			}
			r, err := c.once(ctx)
			if err == nil && round == rounds-1 {
				err = c.inspectLast(ctx)
			}
			if err != nil {
				if err := fail(i, err); err != nil {
					return kernels.Final{}, err
				}
				continue
			}
			readings[i] = append(readings[i], r)
		}
	}
	costs := make([]float64, len(all))
	for i := range all {
		if errs[i] != nil {
			continue
		}
		if costs[i], err = p.steadyCost(readings[i]); err != nil {
			if err := fail(i, err); err != nil {
				return kernels.Final{}, err
			}
		}
	}
	return p.steadyFinal(all, costs, errs, readings), nil
}

// steadyCost returns the cost of a candidate's runs, which may not differ by more than the file says.
func (p *commandProblem) steadyCost(runs []reading) (float64, error) {
	var values []float64
	for _, r := range runs {
		values = append(values, r.value)
	}
	slices.Sort(values)
	if err := p.c.metric.steady(values); err != nil {
		return 0, err
	}
	return p.c.metric.cost(timing.Median(values))
}

// steadyFinal sums up a comparison of steady costs, that of the baseline first.
func (p *commandProblem) steadyFinal(all []*commandCandidate, costs []float64, errs []error, readings [][]reading) kernels.Final {
	// Each of the two costs may be off by the share.
	off := (1 + p.c.metric.within) / (1 - p.c.metric.within)
	final := kernels.Final{Best: -1}
	for i, err := range errs[1:] {
		c := kernels.Comparison{Err: err}
		if err == nil {
			c.Pairs, c.Baseline = p.c.metric.repeats, costs[0]
			c.Ratio = costs[0] / costs[i+1]
			c.Cost = c.Baseline / c.Ratio
			c.Low, c.High = c.Ratio/off, c.Ratio*off
			c.Ratios = p.steadyRatios(readings[0], readings[i+1])
			c.Metrics = append(p.metrics(c.Cost, c.Pairs, spreadOf(readings[i+1])), space.Metric{Name: space.MetricWithin, Value: p.c.metric.within})
			c.Metrics = append(c.Metrics, all[i+1].p.otherMetrics(readings[i+1])...)
			if final.Best < 0 || c.Ahead(final.Comparisons[final.Best]) {
				final.Best = i
			}
		}
		final.Comparisons = append(final.Comparisons, c)
	}
	for i := range final.Comparisons {
		c := &final.Comparisons[i]
		if c.Err != nil {
			continue
		}
		ratio := c.Ratio // to the baseline, for the best one
		if i != final.Best {
			ratio /= final.Comparisons[final.Best].Ratio
		}
		c.Indistinct = ratio <= off && ratio >= 1/off
	}
	return final
}

// steadyRatios returns the ratios of the costs of two candidates, run by run; nil where a number is no cost.
func (p *commandProblem) steadyRatios(base, other []reading) (ratios []float64) {
	for i := range base {
		a, err := p.c.metric.cost(base[i].value)
		b, otherErr := p.c.metric.cost(other[i].value)
		if err != nil || otherErr != nil {
			return nil
		}
		ratios = append(ratios, a/b)
	}
	return ratios
}

// spreadOf returns how far apart the numbers of some runs are, as a share.
func spreadOf(runs []reading) float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, r.value)
	}
	return (slices.Max(values) - slices.Min(values)) / timing.Median(values)
}
