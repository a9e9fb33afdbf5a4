package main

import (
	"cmp"
	"fmt"
	"io"

	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

// times writes a ratio: with two decimals, and more where two would hide on which side of 1 it is.
func times(ratio float64) string {
	if text := fmt.Sprintf("%.2f×", ratio); ratio == 1 || text != "1.00×" {
		return text
	}
	return fmt.Sprintf("%.4f×", ratio)
}

// baselineName names the baseline of a schedule.
func baselineName(s *results.Schedule) string {
	if s.Baseline.Preset != "baseline" {
		return "the baseline, " + s.Baseline.Preset
	}
	return "the baseline"
}

// measuresAway is the command that repeats the measurement of a schedule on the machine of a worker; "" where it was made here.
func measuresAway(s *results.Schedule) string {
	if s.By == "" {
		return ""
	}
	return "tune measure DIR --workers URL"
}

// printMeasured says what is known of the point beside the baseline, and how far it can be trusted. Schedules of earlier versions have
// no verdict. Where costs are exact, the search has seen the same ones.
func printMeasured(w io.Writer, s *results.Schedule) {
	switch {
	case s.Verdict == space.NoGain && s.Search == nil:
		fmt.Fprintln(w, "verdict   no gain over the baseline")
	case s.Verdict == space.NoGain:
		fmt.Fprintln(w, "verdict   no measurable gain over the baseline")
	case s.Verdict == space.Unverified:
		fmt.Fprintf(w, "verdict   unverified: repeat the measurement on a quiet machine with '%s'\n", cmp.Or(measuresAway(s), "tune measure"))
	case s.Verdict != "" && s.Search != nil:
		fmt.Fprintf(w, "verdict   %s\n", s.Verdict)
	}
	unit := space.Unit(s.Unit)
	switch {
	case s.Closest != nil && s.Search == nil:
		fmt.Fprintf(w, "closest   %s\n", s.Closest.Key)
		fmt.Fprintf(w, "search    saw %s there", unit.Words(s.Closest.Cost))
		if s.Closest.Ratio > 0 {
			fmt.Fprintf(w, ", %s %s as the baseline", times(s.Closest.Ratio), unit.Compared())
		}
		fmt.Fprintln(w)
	case s.Closest != nil:
		fmt.Fprintf(w, "closest   %s\n", s.Closest.Key)
		printRatio(w, s.Closest.Ratio, s.Closest.RatioInterval, s.Closest.Pairs, s)
	case s.Pairs > 0:
		printRatio(w, s.Ratio, s.RatioInterval, s.Pairs, s)
	case s.Search != nil && s.Key != s.Baseline.Key:
		fmt.Fprintln(w, "          no pair of measurements was usable: the costs are those seen by the search")
	}
	if m := s.MachineState; m != nil {
		fmt.Fprintf(w, "machine   load %.1f, %.0f %% busy, %.1f %% stolen, drift %.1f %%\n", m.Load, 100*m.Busy, 100*m.Steal, 100*m.Drift)
	}
	interval := s.RatioInterval
	if s.Closest != nil {
		interval = s.Closest.RatioInterval
	}
	indistinct, tooFew := s.IndistinctFrom, s.TooFewPairs
	if interval == nil && len(tooFew) == 0 {
		indistinct, tooFew = nil, indistinct // of earlier versions
	}
	list := func(text string, keys []string) {
		for _, key := range keys {
			if key == s.Baseline.Key {
				key = baselineName(s)
			}
			fmt.Fprintf(w, "          %s from %s\n", text, key)
		}
	}
	list("not distinguishable", indistinct)
	list("too few pairs to tell it", tooFew)
	if len(tooFew) > 0 && s.Verdict != space.Unverified { // which says it
		fmt.Fprintf(w, "          '%s' repeats the measurement: do that when the machine is quiet\n", cmp.Or(measuresAway(s), "tune measure DIR"))
	}
	switch seen := s.Search; {
	case seen == nil || s.Pairs == 0:
	case s.Key == s.Baseline.Key:
		fmt.Fprintf(w, "search    saw %s, at another time\n", unit.Words(seen.Baseline))
	default:
		fmt.Fprintf(w, "search    saw %s, and %s for the baseline, at other times\n", unit.Words(seen.Cost), unit.Words(seen.Baseline))
	}
}

func printRatio(w io.Writer, ratio float64, interval *[2]float64, pairs int, s *results.Schedule) {
	if within, ok := space.FindMetric(s.Metrics, space.MetricWithin); ok && interval != nil {
		fmt.Fprintf(w, "measured  %.4g× in %s, %.4g to %.4g, because runs differ by up to %.3g %%\n", ratio, plain.Count(pairs, "pair"), interval[0], interval[1], 100*within)
		return
	}
	text := "too few for an interval"
	if interval != nil {
		text = fmt.Sprintf("%d %% interval %.3f to %.3f", s.Confidence(), interval[0], interval[1])
	}
	fmt.Fprintf(w, "measured  %.3f× in %s, %s\n", ratio, plain.Count(pairs, "pair"), text)
}
