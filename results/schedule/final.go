package schedule

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
	// firstChecks is how many fresh inputs a finalist must pass before that. The exported one passes all of them.
	firstChecks = 2
	// finalLimit is roughly how long the measurement takes where the budget allows it; shortLimit applies where a user is
	// waiting.
	finalLimit, shortLimit = 30 * time.Second, time.Second
	// leastFinal is the part of a budget that must be left to add a finalist, for each finalist including the new one.
	leastFinal = 1500 * time.Millisecond
)

// finalist is a point that may be exported.
type finalist struct {
	entry     space.Entry
	point     space.Point
	candidate kernels.Candidate
}

// measured is the result of the final measurement for the point that is exported.
type measured struct {
	verdict    space.Verdict
	comparison kernels.Comparison
	machine    kernels.MachineState
	indistinct []string // the keys of the points that it is not distinguished from
	tooFew     []string // the keys of those of which too few pairs were measured to say it
	rival      string   // the key of the point that was compared, where the baseline is exported instead
}

// exportMeasured holds a contest of the best points and the baseline, and exports the winner. The costs of a search were measured
// at different moments, so that the first of a ranking owes its rank partly to luck.
func (m *Maker) exportMeasured(ctx context.Context, compare kernels.CompareFunc, ranking []space.Entry) error {
	seeds := kernels.ExportSeeds(m.Settings.Seed)
	preset := m.Kernel.Problem.Presets()[0]
	baseline := &finalist{point: preset.Point, entry: space.Entry{Key: preset.Point.Key(), Number: results.NoTrial}}
	baseline.entry.Outcome.Cost = m.Baseline.Cost
	var err error
	if baseline.candidate, err = m.Kernel.Build(ctx, preset.Point, seeds[:1]); err != nil {
		return fmt.Errorf("%s: %w", kernels.BaselineName(preset.Name), err)
	}
	isBaseline := func(e space.Entry) bool { return e.Key == baseline.entry.Key }
	found := slices.IndexFunc(ranking, isBaseline)
	if found >= 0 {
		baseline.entry = ranking[found]
	}
	ranking = slices.DeleteFunc(slices.Clone(ranking), isBaseline)
	m.Serial = slices.DeleteFunc(slices.Clone(m.Serial), isBaseline)
	if m.Progress != nil {
		m.Progress(kernels.ContestProgress{})
	}
	for len(ranking) > 0 {
		var finalists []*finalist
		if finalists, ranking, err = m.qualify(ctx, ranking, seeds[:firstChecks]); err != nil {
			return err
		}
		if len(finalists) == 0 {
			break
		}
		done, err := m.contest(ctx, compare, baseline, finalists, seeds)
		if done || err != nil {
			return err
		}
		// All of them failed on fresh inputs: try the next ones.
	}
	if found < 0 {
		return nil
	}
	// No other point of the search is right.
	return m.exportBaseline(ctx, baseline, seeds, &measured{verdict: space.NoGain})
}

// contest decides which of the finalists to export, or whether to export the baseline. done is false where no finalist is right.
func (m *Maker) contest(ctx context.Context, compare kernels.CompareFunc, baseline *finalist, finalists []*finalist, seeds []uint64) (done bool, err error) {
	candidates := make([]kernels.Candidate, len(finalists))
	for i, f := range finalists {
		candidates[i] = f.candidate
	}
	result, err := kernels.Contest{
		Compare: compare, Baseline: baseline.candidate, Finalists: candidates, Limit: m.patience(), Seed: kernels.Derive(m.Settings.Seed, "final"),
		Admit:   func(ctx context.Context, i int) error { return kernels.Verify(ctx, candidates[i], seeds[firstChecks:]) },
		Observe: m.Progress,
	}.Run(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range result.Refused {
		m.refuse(finalists[r.Finalist].entry.Key, r.Err)
	}
	if result.Chosen < 0 {
		return false, nil
	}
	chosen := finalists[result.Chosen]
	m.series = &results.Final{Confirmed: []results.Compared{confirmed(chosen.entry.Key, result.Comparison())}}
	for i, c := range result.First {
		m.series.First = append(m.series.First, PairsOf(finalists[i].entry.Key, c))
	}
	final := &measured{verdict: result.Verdict, comparison: result.Comparison(), machine: result.Final.Machine}
	if result.Baseline {
		final.rival = chosen.entry.Key
		final.alike(final.rival)
		return true, m.exportBaseline(ctx, baseline, seeds, final)
	}
	for _, i := range result.Indistinct {
		final.indistinct = append(final.indistinct, finalists[i].entry.Key)
	}
	for _, i := range result.TooFew {
		final.tooFew = append(final.tooFew, finalists[i].entry.Key)
	}
	final.alike(baseline.entry.Key)
	m.made.Schedule, err = m.writeSchedule(ctx, chosen.entry, chosen.point, chosen.candidate, seeds, final.apply)
	return true, err
}

// PairsOf is the comparison of a point as a file keeps it.
func PairsOf(key string, c kernels.Comparison) results.Compared {
	out := results.Compared{Key: key, Ratio: c.Ratio, Pairs: c.Pairs, Unverified: c.Unverified, Ratios: c.Ratios}
	if c.Err != nil {
		return results.Compared{Key: key, Failed: c.Err.Error()}
	}
	if c.Low > 0 {
		out.Interval = &[2]float64{c.Low, c.High}
	}
	return out
}

// confirmed is PairsOf for the comparison that a schedule sums up, with its costs.
func confirmed(key string, c kernels.Comparison) results.Compared {
	out := PairsOf(key, c)
	if c.Err == nil {
		out.Cost, out.Baseline = c.Cost, c.Baseline
	}
	return out
}

// alike names the other side of the comparison where this does not tell the two apart.
func (f *measured) alike(key string) {
	switch {
	case f.comparison.TooFew:
		f.tooFew = append(f.tooFew, key)
	case f.comparison.Indistinct:
		f.indistinct = append(f.indistinct, key)
	}
}

// exportBaseline exports the baseline, which passes all checks too.
func (m *Maker) exportBaseline(ctx context.Context, baseline *finalist, seeds []uint64, final *measured) error {
	err := kernels.Verify(ctx, baseline.candidate, seeds[1:])
	if err == nil {
		m.made.Schedule, err = m.writeSchedule(ctx, baseline.entry, baseline.point, baseline.candidate, seeds, final.apply)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kernels.BaselineName(m.Baseline.Preset), err)
	}
	return nil
}

// qualify builds the first finalists of a ranking and checks them on fresh inputs. It returns the rest of the ranking. It takes
// at least one finalist; when time is up, no more. Where all of them use several threads, the best point with one thread joins
// them: the search times the two kinds with different clocks, and threads that are slower than no threads must not be exported.
func (m *Maker) qualify(ctx context.Context, ranking []space.Entry, seeds []uint64) ([]*finalist, []space.Entry, error) {
	var finalists []*finalist
	most := mostFinalists
	if room := m.Kernel.Problem.Traits().MostFinalists; room > 0 {
		most = min(most, room)
	}
	for len(ranking) > 0 && len(finalists) < most {
		if n := len(finalists); n > 0 && !m.Until.IsZero() && time.Until(m.Until) < time.Duration(n+1)*leastFinal {
			break
		}
		e := ranking[0]
		ranking = ranking[1:]
		f, err := m.admit(ctx, e, seeds)
		if err != nil {
			return nil, nil, err
		}
		if f != nil {
			finalists = append(finalists, f)
		}
	}
	isSerial := m.Kernel.Serial()
	if isSerial == nil || len(finalists) == 0 || slices.ContainsFunc(finalists, func(f *finalist) bool { return isSerial(f.entry) }) {
		return finalists, ranking, nil
	}
	for len(m.Serial) > 0 {
		e := m.Serial[0]
		m.Serial = m.Serial[1:]
		if slices.ContainsFunc(m.made.Refused, func(r Refusal) bool { return r.Key == e.Key }) {
			continue
		}
		ranking = slices.DeleteFunc(ranking, func(other space.Entry) bool { return other.Number == e.Number })
		f, err := m.admit(ctx, e, seeds)
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
func (m *Maker) admit(ctx context.Context, e space.Entry, seeds []uint64) (*finalist, error) {
	point, err := m.Kernel.Problem.Space().Parse(e.Key)
	if err != nil {
		return nil, err
	}
	c, err := m.Kernel.Build(ctx, point, seeds)
	if kernels.AsRejection(err) != nil {
		m.refuse(e.Key, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &finalist{entry: e, point: point, candidate: c}, nil
}

// serialOf returns the first entries with one thread in a ranking, most of them at the most. isSerial is what kernels.Opened.Serial returns.
func serialOf(isSerial func(space.Entry) bool, ranking []space.Entry, most int) (serial []space.Entry) {
	if isSerial == nil {
		return nil
	}
	for _, e := range ranking {
		if len(serial) < most && isSerial(e) {
			serial = append(serial, e)
		}
	}
	return serial
}

// BestSerial returns the best entries with one thread in a history, as many as a digest keeps.
func BestSerial(k *kernels.Opened, h results.History) (serial []space.Entry, err error) {
	return bestSerial(k.Serial(), h)
}

// bestSerial is BestSerial for what tells points with one thread; nil for a kernel that does not tell threads.
func bestSerial(isSerial func(space.Entry) bool, h results.History) (serial []space.Entry, err error) {
	if isSerial == nil {
		return nil, nil
	}
	for page, err := range pages(h) {
		if err != nil {
			return nil, err
		}
		if serial = append(serial, serialOf(isSerial, page, Kept-len(serial))...); len(serial) == Kept {
			break
		}
	}
	return serial, nil
}

func (m *Maker) refuse(key string, err error) {
	m.made.Refused = append(m.made.Refused, Refusal{key, err.Error()})
}

// patience is how long the final measurement may take. What is left of a budget must cover the checks too.
func (m *Maker) patience() time.Duration {
	limit := m.Limit
	if limit <= 0 {
		limit = finalLimit
	}
	if m.Hurry {
		return min(shortLimit, limit)
	}
	if m.Until.IsZero() {
		return limit
	}
	return min(max(time.Until(m.Until)*2/3, shortLimit), limit)
}

// apply enters the result of the measurement into a schedule, and keeps the costs of the search beside it.
func (f *measured) apply(s *results.Schedule) {
	s.Search = &results.Seen{Cost: s.Cost, Baseline: s.Baseline.Cost}
	if state := results.MachineState(f.machine); state.Probes > 0 {
		s.MachineState = &state
	}
	c := f.comparison
	s.IndistinctFrom, s.TooFewPairs = f.indistinct, f.tooFew
	s.Verdict, s.Unverified, s.Pairs = f.verdict, f.verdict == space.Unverified, c.Pairs
	interval := (*[2]float64)(nil)
	if c.Low > 0 {
		interval = &[2]float64{c.Low, c.High}
	}
	switch {
	case s.Key == s.Baseline.Key:
		if c.Pairs > 0 {
			s.Baseline.Cost = c.Baseline
		}
		s.Cost, s.Ratio = s.Baseline.Cost, results.RatioOf(s.Baseline.Cost, s.Baseline.Cost)
		if within, ok := space.FindMetric(c.Metrics, space.MetricWithin); ok {
			// It is of all points, and says what the interval is. A baseline that the search did not visit has no metrics.
			s.Metrics = withMetric(s.Metrics, space.Metric{Name: space.MetricWithin, Value: within})
		}
		if f.rival != "" {
			s.Closest = &results.Closest{Key: f.rival, Cost: c.Cost, Ratio: c.Ratio, RatioInterval: interval, Pairs: c.Pairs}
		}
	case c.Pairs > 0:
		s.Cost, s.Baseline.Cost, s.Ratio, s.RatioInterval = c.Cost, c.Baseline, c.Ratio, interval
		if len(c.Metrics) > 0 {
			seen := askedMetrics(s.Metrics) // the final measurement takes times alone
			s.Metrics = c.Metrics
			for _, m := range seen {
				s.Metrics = withMetric(s.Metrics, m)
			}
		}
	}
	// Where no pair was plausible, the costs of the search stand.
}

// withMetric returns metrics with one more, where they do not have it yet.
func withMetric(metrics []space.Metric, m space.Metric) []space.Metric {
	if _, has := space.FindMetric(metrics, m.Name); has {
		return metrics
	}
	return append(slices.Clone(metrics), m)
}

// Reserve estimates how long the last checks and measurements of a measured kernel take. They are: references on fresh inputs
// (the time of the baseline's evaluation outside its calls), some calls of the baseline and more of finalists, and the two series
// of the comparison.
func Reserve(wall time.Duration, baselineNS float64, evaluation time.Duration) time.Duration {
	call := time.Duration(min(baselineNS, 1e12))
	reference := max(evaluation-4*call, 0)
	return min(kernels.ExportChecks*reference/2+8*call+9*time.Second, wall/3)
}
