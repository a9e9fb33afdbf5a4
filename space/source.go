package space

import (
	"cmp"
	"slices"
)

// Source holds earlier measurements for a strategy: from an earlier run, a schedule, or a file of measurements. All its points
// are of the strategy's space, and all its costs are comparable: they were measured on one machine, for one problem, in one unit.
type Source struct {
	Name         string // for messages: a path, a kernel and its device
	Observations []Observation
}

// Observation is what is known of a point from elsewhere, before the run itself has asked for it.
type Observation struct {
	Point Point
	// Outcome is the outcome of the point, or of the point that it corresponds to. Its cost is comparable only with others of the
	// same source.
	Outcome Outcome
}

// BestFirst returns sources with their observations sorted, the best first and equal ones by key, so that strategies need not
// search for the best.
func BestFirst(sources []Source) []Source {
	var out []Source
	var objective Objective
	for _, s := range sources {
		s.Observations = slices.Clone(s.Observations)
		slices.SortStableFunc(s.Observations, func(a, b Observation) int {
			switch {
			case objective.Less(a.Outcome, b.Outcome):
				return -1
			case objective.Less(b.Outcome, a.Outcome):
				return 1
			}
			return cmp.Compare(a.Point.Key(), b.Point.Key())
		})
		out = append(out, s)
	}
	return out
}
