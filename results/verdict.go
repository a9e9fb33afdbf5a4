package results

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"tune/space"
)

// agreement is how far, as a share, a measured cost times its ratio may differ from the cost of the baseline, because of
// rounding.
const agreement = 1e-9

// Coherent compares the verdict of a schedule with its numbers, and the numbers with each other; exact says that costs are exact. Schedules of
// earlier versions have no verdict, and their numbers come from different moments.
func (s Schedule) Coherent(exact bool) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("field verdict is %q, and "+format, append([]any{s.Verdict}, args...)...)
	}
	want := RatioOf(s.Baseline.Cost, s.Cost)
	switch {
	case exact && s.Ratio != want:
		return fmt.Errorf("field ratio is %v, and the costs give %v", s.Ratio, want)
	case s.Verdict == "" && s.Checked != "":
		return errors.New("field verdict is missing")
	case s.Verdict == "":
		return nil
	}
	isBaseline := s.Key == s.Baseline.Key
	if c := s.Closest; c != nil && (!isBaseline || c.Key == s.Key) {
		return fmt.Errorf("field closest is %q, and the point is %q: want a point beside the baseline", c.Key, s.Key)
	}
	if exact {
		if want := VerdictOf(true, s.Cost, s.Baseline.Cost); s.Verdict != want {
			return refuse("the costs %v and %v say %q", s.Cost, s.Baseline.Cost, want)
		}
		return s.coherentExact()
	}
	if err := s.coherentPairs(); err != nil {
		return err
	}
	if r := s.Ratio; r != 0 && math.Abs(s.Cost*r/s.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field ratio is %v, and the costs give %v", r, want)
	}
	if c := s.Closest; c != nil && c.Ratio != 0 && math.Abs(c.Cost*c.Ratio/s.Baseline.Cost-1) > agreement {
		return fmt.Errorf("field closest.ratio is %v, and the costs give %v", c.Ratio, RatioOf(s.Baseline.Cost, c.Cost))
	}
	if s.Unverified != (s.Verdict == space.Unverified) {
		return refuse("field unverified is %v", s.Unverified)
	}
	switch s.Verdict {
	case space.Faster:
		switch r := s.RatioInterval; {
		case isBaseline:
			return refuse("the point is the baseline")
		case r == nil:
			return refuse("field ratio_interval is missing")
		case r[0] <= 1:
			return refuse("field ratio_interval begins at %v: want more than 1", r[0])
		}
	case space.NoGain:
		switch c := s.Closest; {
		case !isBaseline:
			return refuse("the point is not the baseline")
		case s.Cost != s.Baseline.Cost:
			return refuse("field cost is %v, not the baseline's %v", s.Cost, s.Baseline.Cost)
		case c != nil && c.RatioInterval != nil && c.RatioInterval[0] > 1:
			return refuse("field closest has an interval above 1, %v", *c.RatioInterval)
		}
	}
	return nil
}

// coherentExact reports what a schedule cannot have where costs are exact, so that nothing is measured at the end, and a closest
// point that its numbers contradict.
func (s Schedule) coherentExact() error {
	switch c := s.Closest; {
	case s.Pairs != 0:
		return fmt.Errorf("field pairs is %d, and the costs are exact: nothing was measured in pairs", s.Pairs)
	case s.RatioInterval != nil:
		return fmt.Errorf("field ratio_interval is %v, and the costs are exact: nothing was measured in pairs", *s.RatioInterval)
	case s.Search != nil:
		return fmt.Errorf("field seen_by_search is %+v, and the costs are exact: the search saw the same ones", *s.Search)
	case c == nil:
	case c.Pairs != 0 || c.RatioInterval != nil:
		return errors.New("field closest has pairs or an interval, and the costs are exact: nothing was measured in pairs")
	case Cheaper(c.Cost, s.Baseline.Cost):
		return fmt.Errorf("field closest.cost is %v, less than the baseline's %v: that point should have been exported", c.Cost, s.Baseline.Cost)
	case c.Ratio != RatioOf(s.Baseline.Cost, c.Cost):
		return fmt.Errorf("field closest.ratio is %v, and the costs give %v", c.Ratio, RatioOf(s.Baseline.Cost, c.Cost))
	}
	return nil
}

// coherentPairs compares the number of pairs of a measured schedule with what follows from it.
func (s Schedule) coherentPairs() error {
	switch c := s.Closest; {
	case s.Pairs == 0 && s.RatioInterval != nil:
		return fmt.Errorf("field pairs is 0, and field ratio_interval is %v: an interval needs pairs", *s.RatioInterval)
	case c != nil && c.Pairs != s.Pairs:
		return fmt.Errorf("field pairs is %d, and field closest.pairs is %d: they are of the same measurements", s.Pairs, c.Pairs)
	case s.Pairs == 0 && s.Search != nil && s.Key != s.Baseline.Key && s.Cost != s.Search.Cost:
		return fmt.Errorf("field pairs is 0, and field cost is %v: without a pair it is that of field seen_by_search, %v", s.Cost, s.Search.Cost)
	}
	return nil
}

// VerdictOf returns the verdict for a cost that no final measurement has compared with the baseline's; exact says that costs are exact.
func VerdictOf(exact bool, cost, baseline float64) space.Verdict {
	switch {
	case !exact:
		return space.Unverified
	case Cheaper(cost, baseline):
		return space.Faster
	}
	return space.NoGain
}

// Cheaper reports whether a right candidate with the cost a is better than one with the cost b.
func Cheaper(a, b float64) bool {
	of := func(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost} }
	return space.Objective{}.Less(of(a), of(b))
}

// RatioOf returns the cost of the baseline over the cost of a point, or 0 where one of them is not above 0 or the result is not a number.
func RatioOf(baseline, cost float64) float64 {
	if r := baseline / cost; cost > 0 && baseline > 0 && space.Finite(r) {
		return r
	}
	return 0
}

// ComputedAlone reports whether the costs of a schedule are exact, as far as it says so itself: nothing was measured for it. Schedules of earlier
// versions do not say it.
func (s Schedule) ComputedAlone() bool {
	return s.Search == nil && s.Pairs == 0 && s.Verdict != "" && s.Verdict != space.Unverified
}

// ReadResult reads the schedule in the directory of a run with these settings, and compares it with what the run keeps of its final measurement.
// best is the best outcome in its journal, where that is known; otherwise it is nil. Only building the point again proves a schedule. What is
// found here is a file that was edited, or that is not of this run.
func ReadResult(dir string, settings Settings, best *space.Entry) (Schedule, error) {
	path := filepath.Join(dir, ScheduleName)
	s, err := ReadSchedule(path)
	if err != nil {
		return s, err
	}
	exact := s.ComputedAlone() && !settings.Measured
	err = s.Coherent(exact)
	if err == nil && exact && best != nil && s.Trial != NoTrial && Cheaper(s.Cost, best.Outcome.Cost) {
		err = fmt.Errorf("field cost is %v, and the least cost in %s is %v", s.Cost, JournalName, best.Outcome.Cost)
	}
	if err == nil {
		// What is wrong with the other file is said where that is shown.
		if final, ferr := ReadFinal(dir); ferr == nil && final.Of(s) {
			err = final.Agree(s)
		}
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("%s: %w: it was edited, or is of another run: %s", path, err, scheduleRemedy(path))
	}
	return s, nil
}
