package schedule

import (
	"cmp"
	"context"
	"fmt"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// PickError says that a run has no point as it is picked.
type PickError struct{ Err error }

func (e *PickError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PickError) Unwrap() error { return e.Err }

// picked returns the entry of the front of a run that Pick chooses.
func (e Exporter) picked(run *results.Run, h results.History) (space.Entry, error) {
	goals, err := run.Settings.Goals()
	if err != nil {
		return space.Entry{}, err
	}
	if !goals.Several() {
		return space.Entry{}, &PickError{fmt.Errorf("%s has one objective, the cost, and so one best point: leave it out", run.Dir)}
	}
	pick, err := space.ParsePick(e.Pick, goals, run.Settings.Unit)
	if err != nil {
		return space.Entry{}, &PickError{err}
	}
	front, err := results.Front(h, goals)
	if err != nil {
		return space.Entry{}, err
	}
	if len(front) == 0 {
		return space.Entry{}, ErrNoValid
	}
	one, err := pick.From(front)
	if err != nil {
		return one, &PickError{err}
	}
	return one, nil
}

// makeOne exports one entry of a run, whatever is faster: it is built, checked on fresh inputs and, where costs are measured, measured
// beside the baseline. Where it is not proven to be faster than that, its verdict is that of exact costs, or space.Unverified. One that
// fails is an error with a *kernels.Rejection.
func (m *Maker) makeOne(ctx context.Context, e space.Entry) (Made, error) {
	m.made, m.series = Made{}, nil
	seeds := kernels.ExportSeeds(m.Settings.Seed)
	point, err := m.Kernel.Problem.Space().Parse(e.Key)
	if err != nil {
		return m.made, err
	}
	compare := m.Kernel.Compare()
	if compare == nil {
		c, score, err := m.Kernel.Rebuild(ctx, point, e.Outcome.Cost, seeds)
		if err != nil {
			return m.made, fmt.Errorf("%s: %w", e.Key, err)
		}
		e.Outcome.Metrics = score.Metrics // whatever evaluated it in the search
		m.made.Schedule, err = m.writeSchedule(ctx, e, point, c, seeds, func(s *results.Schedule) { unmeasured(m.Kernel.Info, s, nil) })
		return m.made, err
	}
	c, err := m.Kernel.Build(ctx, point, seeds)
	if err != nil {
		return m.made, fmt.Errorf("%s: %w", e.Key, err)
	}
	final := &measured{verdict: space.Unverified}
	if e.Key != m.Baseline.Key {
		if final, err = m.beside(ctx, compare, e.Key, c, seeds); err != nil {
			return m.made, fmt.Errorf("%s: %w", e.Key, err)
		}
	}
	m.made.Schedule, err = m.writeSchedule(ctx, e, point, c, seeds, final.apply)
	return m.made, err
}

// beside measures the candidate of a point in turns with the baseline.
func (m *Maker) beside(ctx context.Context, compare kernels.CompareFunc, key string, c kernels.Candidate, seeds []uint64) (*measured, error) {
	preset := m.Kernel.Problem.Presets()[0]
	baseline, err := m.Kernel.Build(ctx, preset.Point, seeds[:1])
	if err != nil {
		return nil, fmt.Errorf("%s: %v", kernels.BaselineName(preset.Name), err)
	}
	found, machine, err := inTurns(ctx, m.Kernel.Info.Name, compare, baseline, c, kernels.Series{
		Limit: m.patience(), Seed: kernels.Derive(m.Settings.Seed, "picked"),
		Observe: func(pair, of int) {
			if m.Progress != nil {
				m.Progress(kernels.ContestProgress{Finalists: 1, Confirming: true, Pair: pair, Of: of})
			}
		},
	})
	if err = cmp.Or(err, found.Err); err != nil {
		return nil, err
	}
	m.series = &results.Final{Confirmed: []results.Compared{confirmed(key, found)}}
	out := &measured{verdict: space.Unverified, comparison: found, machine: machine}
	if found.Faster() {
		out.verdict = space.Faster
	}
	return out, nil
}
