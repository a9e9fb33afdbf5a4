package results

import "tune/space"

// Known is what a list says of the best point of a run.
type Known struct {
	// Best is the cost of that point; nil while no candidate was valid, or the best are not yet measured beside the baseline.
	Best *float64
	// Baseline, Ratio and Verdict are those of the schedule, as Best is; zero where there is none.
	Baseline, Ratio float64
	Verdict         space.Verdict
	// Seen is the least cost that the search saw, where that is not Best; nil where it is, or there is none.
	Seen *float64
	// Elapsed is the time of the run in seconds, with that of the measurement at its end.
	Elapsed float64
}

// Known says what is known of the best point of a run. What is exported has its numbers from the schedule; one that cannot be read, or
// that the run contradicts, counts as none.
func (l Listing) Known() Known {
	k := Known{Elapsed: l.Summary.Elapsed}
	if l.Summary.Best != nil {
		k.Best = &l.Summary.Best.Outcome.Cost
	}
	s, err := ReadResult(l.Dir, l.Settings, l.Summary.Best)
	if err != nil {
		if l.Settings.Measured {
			k.Best, k.Seen = nil, k.Best
		}
		return k
	}
	k.Elapsed = max(k.Elapsed, s.ElapsedSeconds)
	exported := space.Outcome{Status: space.OK, Cost: s.Cost}
	if s.Search == nil && s.Evaluations < l.Summary.Evaluations && k.Best != nil && (space.Objective{}).Less(l.Summary.Best.Outcome, exported) {
		return k // the run has gone on since and found a better point, which that schedule does not judge
	}
	k.Baseline, k.Ratio, k.Verdict = s.Baseline.Cost, s.Ratio, s.Verdict
	if s.Search != nil || k.Best != nil && *k.Best != s.Cost {
		k.Best, k.Seen = &s.Cost, k.Best
	}
	return k
}
