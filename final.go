package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

const (
	// mostFinalists is how many of the best points of a run are measured again beside the baseline.
	mostFinalists = 5
	// firstChecks is how many of the fresh inputs a finalist must pass before that. The one that is exported
	// passes all.
	firstChecks = 2
	// finalLimit is about how long the measurement takes where the budget allows it, and shortLimit where
	// somebody waits.
	finalLimit, shortLimit = 10 * time.Second, time.Second
)

// finalist is a point that may be exported.
type finalist struct {
	entry     space.Entry
	point     space.Point
	candidate kernels.Candidate
	result    kernels.Comparison
}

// measured is what the final measurement says about the point that is exported.
type measured struct {
	kernels.Comparison
	machine    kernels.MachineState
	indistinct []string // the keys of the points that it is not told from
}

// exportMeasured measures the best points again, beside the baseline, and exports the one with the best ratio. The
// costs of a search come from different moments, so that the first of a ranking owes its place to luck in part.
func (x *exporter) exportMeasured(ctx context.Context, comparer kernels.Comparer, ranking []space.Entry) error {
	seeds := freshSeeds(x.settings.Seed)
	preset := x.problem.Presets()[0]
	baseline, err := x.build(ctx, preset.Point, seeds[:1])
	if err != nil {
		return fmt.Errorf("%s: %w", baselineOf(preset.Name), err)
	}
	for len(ranking) > 0 {
		var finalists []*finalist
		if finalists, ranking, err = x.qualify(ctx, ranking, seeds[:firstChecks]); err != nil || len(finalists) == 0 {
			return err
		}
		candidates := make([]kernels.Candidate, len(finalists))
		for i, f := range finalists {
			candidates[i] = f.candidate
		}
		final, err := comparer.Compare(ctx, baseline, candidates, x.patience())
		if err != nil {
			return fmt.Errorf("the final measurement: %w", err)
		}
		if done, err := x.exportBest(ctx, finalists, final, seeds); done || err != nil {
			return err
		}
		// All of them failed on fresh inputs: the next ones have their turn.
	}
	return nil
}

// qualify builds the first finalists of a ranking and checks them on fresh inputs. It returns what it left of the
// ranking. It takes at least one; when the time is over, no more. Where all of them use several threads, the best
// point of one thread joins them: the costs of the two kinds are those of different clocks, and threads that are slower
// than none must not be exported.
func (x *exporter) qualify(ctx context.Context, ranking []space.Entry, seeds []uint64) ([]*finalist, []space.Entry, error) {
	var finalists []*finalist
	most := mostFinalists
	if c, ok := x.problem.(kernels.Confined); ok {
		most = max(min(most, c.MostFinalists()), 1)
	}
	for len(ranking) > 0 && len(finalists) < most {
		if len(finalists) > 0 && !x.until.IsZero() && time.Until(x.until) < finalLimit/4 {
			break
		}
		e := ranking[0]
		ranking = ranking[1:]
		f, err := x.admit(ctx, e, seeds)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			finalists = append(finalists, f)
		}
	}
	isSerial := x.serialTest()
	if isSerial == nil || len(finalists) == 0 || slices.ContainsFunc(finalists, func(f *finalist) bool { return isSerial(f.entry.Key) }) {
		return finalists, ranking, nil
	}
	for len(x.serial) > 0 {
		e := x.serial[0]
		x.serial = x.serial[1:]
		if slices.ContainsFunc(x.report.Refused, func(r Refusal) bool { return r.Key == e.Key }) {
			continue
		}
		ranking = slices.DeleteFunc(ranking, func(other space.Entry) bool { return other.Number == e.Number })
		f, err := x.admit(ctx, e, seeds)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			return append(finalists, f), ranking, nil
		}
	}
	return finalists, ranking, nil
}

// admit builds a point and checks it on fresh inputs. It returns nil where the point fails.
func (x *exporter) admit(ctx context.Context, e space.Entry, seeds []uint64) (*finalist, error) {
	point, err := x.problem.Space().Parse(e.Key)
	if err != nil {
		return nil, err
	}
	c, err := x.build(ctx, point, seeds)
	if kernels.AsRejection(err) != nil {
		x.refuse(e.Key, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &finalist{entry: e, point: point, candidate: c}, nil
}

// serialTest returns a function that tells the points of one thread; nil where the kernel does not say.
func (s *session) serialTest() func(key string) bool {
	threaded, ok := s.problem.(kernels.Threaded)
	if !ok {
		return nil
	}
	return func(key string) bool {
		point, err := s.problem.Space().Parse(key)
		if err != nil {
			return false
		}
		n := 0
		// A point whose code cannot even be generated is no rival.
		err = guard(func() (err error) {
			n, err = threaded.Threads(point)
			return err
		})
		return err == nil && n == 1
	}
}

// serialOf returns the first entries of a ranking that have one thread, so many at the most.
func (s *session) serialOf(ranking []space.Entry, most int) (serial []space.Entry) {
	isSerial := s.serialTest()
	if isSerial == nil {
		return nil
	}
	for _, e := range ranking {
		if len(serial) < most && isSerial(e.Key) {
			serial = append(serial, e)
		}
	}
	return serial
}

// bestSerial returns the best entries of a history that have one thread, as many as a digest keeps.
func (s *session) bestSerial(h results.History) (serial []space.Entry, err error) {
	if s.serialTest() == nil {
		return nil, nil
	}
	for page, err := range pages(h) {
		if err != nil {
			return nil, err
		}
		if serial = append(serial, s.serialOf(page, finalists-len(serial))...); len(serial) == finalists {
			break
		}
	}
	return serial, nil
}

// exportBest exports the finalist with the greatest ratio that is right on all fresh inputs. done is false where
// there is none.
func (x *exporter) exportBest(ctx context.Context, finalists []*finalist, final kernels.Final, seeds []uint64) (done bool, err error) {
	if len(final.Comparisons) != len(finalists) {
		return false, fmt.Errorf("%d finalists were compared, and %d comparisons came back", len(finalists), len(final.Comparisons))
	}
	for i, f := range finalists {
		f.result = final.Comparisons[i]
	}
	order := slices.Clone(finalists)
	slices.SortStableFunc(order, func(a, b *finalist) int { return cmp.Compare(b.result.Ratio, a.result.Ratio) })
	for _, f := range order {
		err := f.result.Err
		if err == nil {
			err = kernels.Verify(ctx, f.candidate, seeds[firstChecks:])
		}
		if kernels.AsRejection(err) != nil {
			x.refuse(f.entry.Key, err)
			continue
		}
		if err != nil {
			return false, err
		}
		m := &measured{Comparison: f.result, machine: final.Machine}
		if final.Best >= 0 && f == finalists[final.Best] {
			for _, other := range finalists {
				// The baseline itself may be among the finalists.
				if other != f && other.result.Err == nil && other.result.Indistinct && other.entry.Key != x.report.Baseline.Key {
					m.indistinct = append(m.indistinct, other.entry.Key)
				}
			}
			if f.result.Indistinct && f.entry.Key != x.report.Baseline.Key {
				m.indistinct = append(m.indistinct, x.report.Baseline.Key)
			}
		}
		x.report.Schedule, err = x.writeSchedule(f.entry, f.point, f.candidate, seeds, m)
		return err == nil, err
	}
	return false, nil
}

func (x *exporter) refuse(key string, err error) {
	x.report.Refused = append(x.report.Refused, Refusal{key, err.Error()})
}

// patience is how long the final measurement may take.
func (x *exporter) patience() time.Duration {
	switch {
	case x.hurry:
		return shortLimit
	case x.until.IsZero():
		return finalLimit
	}
	return min(max(time.Until(x.until)/2, shortLimit), finalLimit)
}

// build builds a point and checks it on the inputs of every seed.
func (s *session) build(ctx context.Context, p space.Point, seeds []uint64) (kernels.Candidate, error) {
	var c kernels.Candidate
	err := guard(func() (err error) {
		c, err = s.problem.Build(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, kernels.Verify(ctx, c, seeds)
}

// apply puts what was measured into a schedule, in place of what the search saw.
func (m *measured) apply(s *results.Schedule) {
	if m == nil {
		return
	}
	if state := results.MachineState(m.machine); state.Probes > 0 {
		s.MachineState = &state
	}
	s.IndistinctFrom, s.Unverified, s.Pairs = m.indistinct, m.Unverified, m.Pairs
	if m.Pairs == 0 {
		return // no pair could be believed; the costs of the search stand
	}
	s.Cost, s.Baseline.Cost, s.Ratio = m.Cost, m.Baseline, m.Ratio
	if len(m.Metrics) > 0 {
		s.Metrics = m.Metrics
	}
	if m.Low > 0 {
		s.RatioInterval = &[2]float64{m.Low, m.High}
	}
}

// finalReserve estimates how long the last checks and measurements of a measured kernel take: references on fresh
// inputs, which are what the baseline's evaluation took beside its calls, some calls of the baseline and more of
// finalists, and the comparison itself.
func finalReserve(wall time.Duration, baselineNS float64, evaluation time.Duration) time.Duration {
	call := time.Duration(min(baselineNS, 1e12))
	reference := max(evaluation-4*call, 0)
	return min(ExportChecks*reference/2+5*call+5*time.Second, wall/4)
}
