package space

import (
	"cmp"
	"slices"
)

// Source is what was measured elsewhere, as a strategy hears of it: by an earlier run, in a schedule, in a file of
// measurements. All its points are of the space of the strategy, and all its costs were measured alike: on one machine,
// for one problem, in one unit.
type Source struct {
	Name         string // for messages: a path, a kernel and its device
	Observations []Observation
}

// Observation is what is known of a point that the run itself has not asked for.
type Observation struct {
	Point Point
	// Outcome is what became of it, or of the point that it stands for. Its cost is comparable with others of the same
	// source only.
	Outcome Outcome
}

// BestFirst returns sources with the best observations first, and equally good ones by key, so that no strategy has to
// look for them.
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
