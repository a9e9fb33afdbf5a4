package search

import (
	"cmp"
	"slices"

	"tune/space"
)

// MostLeaders is how many points of all sources together a strategy begins with: more would put off what it would try
// itself, where the sources mislead.
const MostLeaders = 6

// Leaders returns points that other runs found to be good: the best of each source, by turns, and at most n of them. A
// point that failed in its source, or that came before, is left out. The order of the observations of a source matters only
// between equal costs.
func Leaders(sources []space.Source, n int) []space.Point {
	var tops [][]space.Point
	var objective space.Objective
	for _, source := range sources {
		order := make([]int, 0, len(source.Observations))
		skip := map[string]bool{}
		for i, o := range source.Observations {
			switch {
			case o.Outcome.Fidelity != 0:
			case o.Outcome.Status == space.OK:
				order = append(order, i)
			default:
				skip[o.Point.Key()] = true
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(objective.Value(source.Observations[a].Outcome), objective.Value(source.Observations[b].Outcome))
		})
		var top []space.Point
		for _, i := range order {
			if len(top) == n {
				break
			}
			if p := source.Observations[i].Point; !skip[p.Key()] {
				skip[p.Key()] = true // once is enough
				top = append(top, p)
			}
		}
		tops = append(tops, top)
	}
	var out []space.Point
	seen := map[string]bool{}
	for rank := range n {
		for _, top := range tops {
			if rank < len(top) && len(out) < n && !seen[top[rank].Key()] {
				seen[top[rank].Key()] = true
				out = append(out, top[rank])
			}
		}
	}
	return out
}
