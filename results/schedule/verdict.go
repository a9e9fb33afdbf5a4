package schedule

import (
	"errors"
	"fmt"
	"math"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

// agreement is how far, as a share, a measured cost times its ratio may differ from the cost of the baseline, because of
// rounding.
const agreement = 1e-9

// verifyVerdict compares the verdict of a schedule with its numbers, and the numbers with each other. Schedules of earlier
// versions have no verdict, and their numbers come from different moments.
func verifyVerdict(info kernels.Info, schedule results.Schedule) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("field verdict is %q, and "+format, append([]any{schedule.Verdict}, args...)...)
	}
	if schedule.Verdict == "" {
		if schedule.Checked != "" {
			return errors.New("field verdict is missing")
		}
		return nil
	}
	if info.Exact {
		if want := verdictOf(info, schedule.Cost, schedule.Baseline.Cost); schedule.Verdict != want {
			return refuse("the costs %v and %v say %q", schedule.Cost, schedule.Baseline.Cost, want)
		}
		return nil
	}
	if r := schedule.Ratio; r != 0 && math.Abs(schedule.Cost*r/schedule.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field ratio is %v, and the costs give %v", r, ratio(schedule.Baseline.Cost, schedule.Cost))
	}
	if c := schedule.Closest; c != nil && c.Ratio != 0 && math.Abs(c.Cost*c.Ratio/schedule.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field closest.ratio is %v, and the costs give %v", c.Ratio, ratio(schedule.Baseline.Cost, c.Cost))
	}
	isBaseline := schedule.Key == schedule.Baseline.Key
	if schedule.Unverified != (schedule.Verdict == space.Unverified) {
		return refuse("field unverified is %v", schedule.Unverified)
	}
	switch schedule.Verdict {
	case space.Faster:
		switch r := schedule.RatioInterval; {
		case isBaseline:
			return refuse("the point is the baseline")
		case r == nil:
			return refuse("field ratio_interval is missing")
		case r[0] <= 1:
			return refuse("field ratio_interval begins at %v: want more than 1", r[0])
		}
	case space.NoGain:
		switch c := schedule.Closest; {
		case !isBaseline:
			return refuse("the point is not the baseline")
		case schedule.Cost != schedule.Baseline.Cost:
			return refuse("field cost is %v, not the baseline's %v", schedule.Cost, schedule.Baseline.Cost)
		case c != nil && c.RatioInterval != nil && c.RatioInterval[0] > 1:
			return refuse("field closest has an interval above 1, %v", *c.RatioInterval)
		}
	}
	return nil
}

// verdictOf returns the verdict for a cost that no final measurement has compared with the baseline's.
func verdictOf(info kernels.Info, cost, baseline float64) space.Verdict {
	switch {
	case !info.Exact:
		return space.Unverified
	case cost < baseline:
		return space.Faster
	}
	return space.NoGain
}
