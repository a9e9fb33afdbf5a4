package tune

import (
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
	finalLimit, shortLimit = 30 * time.Second, time.Second
	// leastFinal is how much of a budget has to be left for one more finalist, and the same again for each that is there.
	leastFinal = 1500 * time.Millisecond
)

// finalist is a point that may be exported.
type finalist struct {
	entry     space.Entry
	point     space.Point
	candidate kernels.Candidate
}

// measured is what the final measurement says about the point that is exported.
type measured struct {
	verdict    space.Verdict
	comparison kernels.Comparison
	machine    kernels.MachineState
	indistinct []string // the keys of the points that it is not told from
	rival      string   // the key of the point that was compared, where the baseline is exported in its place
}

// exportMeasured holds a contest of the best points and the baseline, and exports the one that wins. The costs of a search come
// from different moments, so that the first of a ranking owes its place to luck in part.
func (x *exporter) exportMeasured(ctx context.Context, compare kernels.CompareFunc, ranking []space.Entry) error {
	seeds := freshSeeds(x.settings.Seed)
	preset := x.problem.Presets()[0]
	baseline := &finalist{point: preset.Point, entry: space.Entry{Key: preset.Point.Key(), Number: results.NoTrial}}
	baseline.entry.Outcome.Cost = x.report.Baseline.Cost
	var err error
	if baseline.candidate, err = x.build(ctx, preset.Point, seeds[:1]); err != nil {
		return fmt.Errorf("%s: %w", baselineOf(preset.Name), err)
	}
	isBaseline := func(e space.Entry) bool { return e.Key == baseline.entry.Key }
	found := slices.IndexFunc(ranking, isBaseline)
	if found >= 0 {
		baseline.entry = ranking[found]
	}
	ranking = slices.DeleteFunc(slices.Clone(ranking), isBaseline)
	x.serial = slices.DeleteFunc(slices.Clone(x.serial), isBaseline)
	if x.progress != nil {
		x.progress(kernels.ContestProgress{})
	}
	for len(ranking) > 0 {
		var finalists []*finalist
		if finalists, ranking, err = x.qualify(ctx, ranking, seeds[:firstChecks]); err != nil {
			return err
		}
		if len(finalists) == 0 {
			break
		}
		done, err := x.contest(ctx, compare, baseline, finalists, seeds)
		if done || err != nil {
			return err
		}
		// All of them failed on fresh inputs: the next ones have their turn.
	}
	if found < 0 {
		return nil
	}
	// Nothing else of what was tried is right.
	return x.exportBaseline(ctx, baseline, seeds, &measured{verdict: space.NoGain})
}

// contest finds out which of the finalists to export, or whether it is the baseline. done is false where none of them is
// right.
func (x *exporter) contest(ctx context.Context, compare kernels.CompareFunc, baseline *finalist, finalists []*finalist, seeds []uint64) (done bool, err error) {
	candidates := make([]kernels.Candidate, len(finalists))
	for i, f := range finalists {
		candidates[i] = f.candidate
	}
	result, err := kernels.Contest{
		Compare: compare, Baseline: baseline.candidate, Finalists: candidates, Limit: x.patience(), Seed: derive(x.settings.Seed, "final"),
		Admit:   func(ctx context.Context, i int) error { return kernels.Verify(ctx, candidates[i], seeds[firstChecks:]) },
		Observe: x.progress,
	}.Run(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range result.Refused {
		x.refuse(finalists[r.Finalist].entry.Key, r.Err)
	}
	if result.Chosen < 0 {
		return false, nil
	}
	chosen := finalists[result.Chosen]
	m := &measured{verdict: result.Verdict, comparison: result.Comparison(), machine: result.Final.Machine}
	if result.Baseline {
		m.rival = chosen.entry.Key
		if m.comparison.Indistinct {
			m.indistinct = []string{m.rival}
		}
		return true, x.exportBaseline(ctx, baseline, seeds, m)
	}
	for _, i := range result.Indistinct {
		m.indistinct = append(m.indistinct, finalists[i].entry.Key)
	}
	if m.comparison.Indistinct {
		m.indistinct = append(m.indistinct, baseline.entry.Key)
	}
	x.report.Schedule, err = x.writeSchedule(chosen.entry, chosen.point, chosen.candidate, seeds, m)
	return true, err
}

// exportBaseline exports the baseline, which passes all checks too.
func (x *exporter) exportBaseline(ctx context.Context, baseline *finalist, seeds []uint64, m *measured) error {
	err := kernels.Verify(ctx, baseline.candidate, seeds[1:])
	if err == nil {
		x.report.Schedule, err = x.writeSchedule(baseline.entry, baseline.point, baseline.candidate, seeds, m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", baselineOf(x.report.Baseline.Preset), err)
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
	if room := x.problem.Traits().MostFinalists; room > 0 {
		most = min(most, room)
	}
	for len(ranking) > 0 && len(finalists) < most {
		if n := len(finalists); n > 0 && !x.until.IsZero() && time.Until(x.until) < time.Duration(n+1)*leastFinal {
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
	threads := s.problem.Traits().Threads
	if threads == nil {
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
			n, err = threads(point)
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

func (x *exporter) refuse(key string, err error) {
	x.report.Refused = append(x.report.Refused, Refusal{key, err.Error()})
}

// patience is how long the final measurement may take. What is left of a budget has to do for checks too.
func (x *exporter) patience() time.Duration {
	if x.hurry {
		return shortLimit
	}
	limit := x.limit
	if limit <= 0 {
		limit = finalLimit
	}
	if x.until.IsZero() {
		return limit
	}
	return min(max(time.Until(x.until)*2/3, shortLimit), limit)
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

// apply puts what was measured into a schedule, in place of what the search saw, which it keeps beside it.
func (m *measured) apply(s *results.Schedule) {
	s.Search = &results.Seen{Cost: s.Cost, Baseline: s.Baseline.Cost}
	if state := results.MachineState(m.machine); state.Probes > 0 {
		s.MachineState = &state
	}
	c := m.comparison
	s.Verdict, s.IndistinctFrom, s.Unverified, s.Pairs = m.verdict, m.indistinct, m.verdict == space.Unverified, c.Pairs
	interval := (*[2]float64)(nil)
	if c.Low > 0 {
		interval = &[2]float64{c.Low, c.High}
	}
	switch {
	case s.Key == s.Baseline.Key:
		if c.Pairs > 0 {
			s.Baseline.Cost = c.Baseline
		}
		s.Cost, s.Ratio = s.Baseline.Cost, ratio(s.Baseline.Cost, s.Baseline.Cost)
		if m.rival != "" {
			s.Closest = &results.Closest{Key: m.rival, Cost: c.Cost, Ratio: c.Ratio, RatioInterval: interval, Pairs: c.Pairs}
		}
	case c.Pairs > 0:
		s.Cost, s.Baseline.Cost, s.Ratio, s.RatioInterval = c.Cost, c.Baseline, c.Ratio, interval
		if len(c.Metrics) > 0 {
			s.Metrics = c.Metrics
		}
	}
	// Where no pair could be believed, the costs of the search stand.
}

// finalReserve estimates how long the last checks and measurements of a measured kernel take: references on fresh
// inputs, which are what the baseline's evaluation took beside its calls, some calls of the baseline and more of
// finalists, and the two series of the comparison.
func finalReserve(wall time.Duration, baselineNS float64, evaluation time.Duration) time.Duration {
	call := time.Duration(min(baselineNS, 1e12))
	reference := max(evaluation-4*call, 0)
	return min(ExportChecks*reference/2+8*call+9*time.Second, wall/3)
}
