package search

import (
	"slices"

	"tune/space"
)

// MostLeaders bounds the points that a strategy starts with, over all sources. More of them would delay its own search where the
// sources mislead.
const MostLeaders = 6

// Leaders returns at most n points that other runs found to be good: the best of each source in turn. It leaves out points that
// failed in their source, and duplicates. The order of a source's observations matters only between equal costs.
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
		slices.SortFunc(order, func(a, b int) int {
			return objective.Compare(space.Entry{Number: a, Outcome: source.Observations[a].Outcome}, space.Entry{Number: b, Outcome: source.Observations[b].Outcome})
		})
		var top []space.Point
		for _, i := range order {
			if len(top) == n {
				break
			}
			if p := source.Observations[i].Point; !skip[p.Key()] {
				skip[p.Key()] = true // no point twice
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
