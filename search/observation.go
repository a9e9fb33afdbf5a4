package search

import (
	"cmp"
	"slices"

	"tune/space"
)

// Observation is what is known of a point from elsewhere, before the run itself has asked for it.
type Observation struct {
	// Point may belong to another space, such as that of another shape or of a file; [Adapt] carries it over.
	Point space.Point
	// Outcome is the result that was recorded. Its cost is comparable only with others of the same source.
	Outcome space.Outcome
}

// Source is where observations come from: an earlier run, a schedule, a file of results. All costs of one source are comparable:
// they were measured on one machine, for one problem, in one unit.
type Source struct {
	Name         string // for messages: a path, a kernel and its device
	Observations []Observation
}

// Adapt returns the point of a space that corresponds to p, which may belong to another space. Parameters correspond by name. A
// value that the space lacks becomes the nearest number of the domain. A value without a counterpart, and a parameter that p's
// space lacks, become the default. Adapt returns false where the result breaks a constraint, or where p shares no parameter with
// the space.
func Adapt(s *space.Space, p space.Point) (space.Point, bool) {
	if p.IsZero() {
		return space.Point{}, false
	}
	return AdaptValues(s, p.Value)
}

// AdaptValues is Adapt for values that do not form a point of a space. value returns the value of a parameter, and false where
// there is none.
func AdaptValues(s *space.Space, value func(name string) (space.Value, bool)) (space.Point, bool) {
	params := s.Parameters()
	ordinals, shared := make([]int, len(params)), false
	for i, parameter := range params {
		ordinals[i] = -1
		v, ok := value(parameter.Name)
		if !ok {
			continue
		}
		if o, ok := nearest(parameter, v); ok {
			ordinals[i], shared = o, true
		}
	}
	if !shared {
		return space.Point{}, false
	}
	return s.Complete(ordinals)
}

// widestScan is the largest domain that nearest searches value by value.
const widestScan = 1 << 16

// nearest returns the ordinal of v in the domain of p, or that of the nearest number, the first of equally near ones.
func nearest(p space.Parameter, v space.Value) (int, bool) {
	if o, ok := p.Ordinal(v); ok {
		return o, true
	}
	want, ok := v.Number()
	if !ok {
		return 0, false
	}
	if p.Type == space.TypeInt && p.Len() > widestScan {
		from := float64(p.From)
		return int(min(max((want-from)/float64(p.Step)+0.5, 0), float64(p.Len()-1))), true
	}
	best, least := -1, 0.0
	for i := range p.Len() {
		x, ok := p.At(i).Number()
		if !ok {
			return 0, false
		}
		if d := max(x-want, want-x); best < 0 || d < least {
			best, least = i, d
		}
	}
	return best, best >= 0
}

// MostLeaders bounds the points that a strategy starts with, over all sources. More of them would delay its own search where the
// sources mislead.
const MostLeaders = 6

// Leaders returns at most n points of a space that other runs found to be good: the best of each source in turn, carried over by
// [Adapt]. It leaves out points that failed in their source and duplicates. The order of a source's observations matters only
// between equal costs.
func Leaders(s *space.Space, sources []Source, n int) []space.Point {
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
				if p, ok := Adapt(s, o.Point); ok {
					skip[p.Key()] = true
				}
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
			if p, ok := Adapt(s, source.Observations[i].Point); ok && !skip[p.Key()] {
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
