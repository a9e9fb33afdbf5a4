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
	isBaseline := schedule.Key == schedule.Baseline.Key
	if c := schedule.Closest; c != nil && (!isBaseline || c.Key == schedule.Key) {
		return fmt.Errorf("field closest is %q, and the point is %q: want a point beside the baseline", c.Key, schedule.Key)
	}
	if info.Exact {
		if want := verdictOf(info, schedule.Cost, schedule.Baseline.Cost); schedule.Verdict != want {
			return refuse("the costs %v and %v say %q", schedule.Cost, schedule.Baseline.Cost, want)
		}
		return verifyExact(schedule)
	}
	if err := verifyPairs(schedule); err != nil {
		return err
	}
	if r := schedule.Ratio; r != 0 && math.Abs(schedule.Cost*r/schedule.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field ratio is %v, and the costs give %v", r, ratio(schedule.Baseline.Cost, schedule.Cost))
	}
	if c := schedule.Closest; c != nil && c.Ratio != 0 && math.Abs(c.Cost*c.Ratio/schedule.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field closest.ratio is %v, and the costs give %v", c.Ratio, ratio(schedule.Baseline.Cost, c.Cost))
	}
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

// verifyExact reports what a schedule cannot have where costs are exact, so that nothing is measured at the end, and a closest
// point that its numbers contradict.
func verifyExact(schedule results.Schedule) error {
	switch c := schedule.Closest; {
	case schedule.Pairs != 0:
		return fmt.Errorf("field pairs is %d, and the costs are exact: nothing was measured in pairs", schedule.Pairs)
	case schedule.RatioInterval != nil:
		return fmt.Errorf("field ratio_interval is %v, and the costs are exact: nothing was measured in pairs", *schedule.RatioInterval)
	case schedule.Search != nil:
		return fmt.Errorf("field seen_by_search is %+v, and the costs are exact: the search saw the same ones", *schedule.Search)
	case c == nil:
	case c.Pairs != 0 || c.RatioInterval != nil:
		return errors.New("field closest has pairs or an interval, and the costs are exact: nothing was measured in pairs")
	case less(c.Cost, schedule.Baseline.Cost):
		return fmt.Errorf("field closest.cost is %v, less than the baseline's %v: that point should have been exported", c.Cost, schedule.Baseline.Cost)
	case c.Ratio != ratio(schedule.Baseline.Cost, c.Cost):
		return fmt.Errorf("field closest.ratio is %v, and the costs give %v", c.Ratio, ratio(schedule.Baseline.Cost, c.Cost))
	}
	return nil
}

// verifyPairs compares the number of pairs of a measured schedule with what follows from it.
func verifyPairs(schedule results.Schedule) error {
	switch c := schedule.Closest; {
	case schedule.Pairs == 0 && schedule.RatioInterval != nil:
		return fmt.Errorf("field pairs is 0, and field ratio_interval is %v: an interval needs pairs", *schedule.RatioInterval)
	case c != nil && c.Pairs != schedule.Pairs:
		return fmt.Errorf("field pairs is %d, and field closest.pairs is %d: they are of the same measurements", schedule.Pairs, c.Pairs)
	case schedule.Pairs == 0 && schedule.Search != nil && schedule.Key != schedule.Baseline.Key && schedule.Cost != schedule.Search.Cost:
		return fmt.Errorf("field pairs is 0, and field cost is %v: without a pair it is that of field seen_by_search, %v", schedule.Cost, schedule.Search.Cost)
	}
	return nil
}

// verdictOf returns the verdict for a cost that no final measurement has compared with the baseline's.
func verdictOf(info kernels.Info, cost, baseline float64) space.Verdict {
	switch {
	case !info.Exact:
		return space.Unverified
	case less(cost, baseline):
		return space.Faster
	}
	return space.NoGain
}
