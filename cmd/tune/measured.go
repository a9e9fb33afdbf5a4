package main

import (
	"fmt"
	"io"

	"tune/results"
)

// printMeasured says how far a measured ratio can be trusted. It prints nothing of a schedule whose costs are exact.
func printMeasured(w io.Writer, s *results.Schedule) {
	if s.Pairs == 0 {
		return
	}
	interval := "too few for an interval"
	if r := s.RatioInterval; r != nil {
		interval = fmt.Sprintf("95 %% interval %.3f to %.3f", r[0], r[1])
	}
	fmt.Fprintf(w, "measured  %.3f× in %d pairs, %s\n", s.Ratio, s.Pairs, interval)
	if m := s.MachineState; m != nil {
		fmt.Fprintf(w, "machine   load %.1f, %.0f %% busy, %.1f %% stolen, drift %.1f %%\n", m.Load, 100*m.Busy, 100*m.Steal, 100*m.Drift)
	}
	if s.Unverified {
		fmt.Fprintln(w, "          unverified: the machine was not as quiet as this measurement needs; measure again when it is")
	}
	for _, key := range s.IndistinctFrom {
		if key == s.Baseline.Key {
			name := "the baseline"
			if s.Baseline.Preset != "baseline" {
				name += ", " + s.Baseline.Preset
			}
			fmt.Fprintf(w, "          not told apart from %s\n", name)
			continue
		}
		fmt.Fprintf(w, "          not told apart from %s\n", key)
	}
}
