package library

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tune/kernels"
	"tune/kernels/native"
)

// baselineName stands for the baseline beside the names of variants.
const baselineName = "baseline"

// ReportRatio is how many times as fast as the baseline of its kernel a variant is, at the shape that it was tuned at. The two were measured in turns.
type ReportRatio struct {
	Ratio float64 `json:"ratio"` // cost of the baseline over that of the variant
	Low   float64 `json:"low"`   // its interval, with the confidence of a final measurement; both are 0 where there were too few pairs
	High  float64 `json:"high"`
	Pairs int     `json:"pairs"`
	// Unverified says that the machine was not as quiet as the measurement needs.
	Unverified bool `json:"unverified,omitempty"`
}

// ofBaseline returns the last measurement of a variant beside the baseline; nil where there is none.
func (t *task) ofBaseline(v variant) *measurement {
	for i, m := range slices.Backward(t.measured) {
		if m.Role == besideBaseline && m.Choice == v.Name && slices.Equal(m.Fields, v.Tuned) {
			return &t.measured[i]
		}
	}
	return nil
}

// ratioOf returns how a variant compares with the baseline; nil where that is not known.
func (t *task) ratioOf(v variant) *ReportRatio {
	m := t.ofBaseline(v)
	if m == nil || len(m.Costs) < 2 {
		return nil
	}
	c := m.Costs[1] // the first is the baseline
	return &ReportRatio{Ratio: c.Ratio, Low: c.Low, High: c.High, Pairs: c.Pairs, Unverified: m.Unverified}
}

// leastRatio is the least time for a measurement beside the baseline: shorter ones seldom have enough pairs for an interval.
const leastRatio = 3 * time.Second

// recordRatios measures each variant of the library beside the baseline of its kernel, which is what a guard holds it to later. Where a variant
// fails, it is refused, and the task has to be settled again.
func (m *maker) recordRatios(ctx context.Context, s *settled) error {
	for n, i := range s.used {
		v := s.variants[i]
		if s.ofBaseline(v) != nil {
			continue
		}
		if m.Evaluations == 0 && n > 0 && !m.left(recordUntil) {
			return nil
		}
		limit := m.seconds(recordUntil-certifyUntil, len(s.used))
		if m.Measure == 0 {
			limit = max(limit, leastRatio)
		}
		m.tell(Progress{Step: "certifying", Text: s.Function + " " + v.Name + " " + besideBaseline, Done: n, Of: len(s.used), Left: m.until(recordUntil)})
		began := time.Now()
		one, err := s.measureBaseline(ctx, v, limit)
		if err != nil {
			return err
		}
		one.Seconds = time.Since(began).Seconds()
		if err := s.keep(one); err != nil {
			return err
		}
	}
	return nil
}

// measureBaseline measures a variant beside the baseline. Where one of them is wrong, no costs are known; the variant is refused if it is that one.
func (t *task) measureBaseline(ctx context.Context, v variant, limit time.Duration) (measurement, error) {
	out := measurement{Role: besideBaseline, Fields: v.Tuned, Choice: v.Name}
	failed := func(err error) (measurement, error) {
		return out, fmt.Errorf("%s: the variant %s %s at %s: %w", t.Function, v.Name, besideBaseline, t.Called(v.Tuned), err)
	}
	p, candidate, err := t.contender(v)
	if err != nil {
		return failed(err)
	}
	seed := kernels.Derive(3, t.Called(v.Tuned))
	err = kernels.Verify(ctx, candidate, []uint64{seed})
	if r := kernels.AsRejection(err); r != nil {
		out.Refused = []refused{{v.Name, r.Error()}}
		return out, nil
	}
	if err != nil {
		return failed(err)
	}
	base, err := p.Build(ctx, p.Presets()[0].Point)
	if err == nil {
		err = kernels.Verify(ctx, base, []uint64{seed})
	}
	var final kernels.Final
	if err == nil {
		final, err = p.Compare(ctx, base, []kernels.Candidate{candidate}, kernels.Series{Limit: limit, Seed: seed, Confirm: true})
	}
	switch {
	case kernels.AsRejection(err) != nil: // of the baseline
		return out, nil
	case err != nil:
		return failed(err)
	}
	switch c := final.Comparisons[0]; {
	case c.Err != nil:
		out.Refused = []refused{{v.Name, c.Err.Error()}}
	case c.Ratio > 0:
		out.Unverified = c.Unverified
		out.Costs = []measured{
			{Variant: baselineName, Cost: c.Baseline, Ratio: 1, Low: 1, High: 1, Pairs: c.Pairs},
			{Variant: v.Name, Cost: c.Cost, Ratio: c.Ratio, Low: c.Low, High: c.High, Pairs: c.Pairs},
		}
	}
	return out, nil
}

// contender makes a candidate of a variant at the shape that it was tuned at, and returns the problem there.
func (t *task) contender(v variant) (*native.Problem, kernels.Candidate, error) {
	p, _, err := openLinked(t.kernel, t.Fixed, t.Called(v.Tuned))
	if err != nil {
		return nil, nil, err
	}
	point, err := v.at(p)
	if err != nil {
		return nil, nil, err
	}
	return p, p.Wrap(v.source, point), nil
}
