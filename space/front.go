package space

import (
	"cmp"
	"math"
	"slices"
)

// Dominates reports whether values, which are minimised, are better than others in one place and worse in none.
func Dominates(a, b []float64) bool {
	better := false
	for i, v := range a {
		switch {
		case v > b[i]:
			return false
		case v < b[i]:
			better = true
		}
	}
	return better
}

// Front keeps the entries that no other one dominates, among those that it was offered. Of entries with equal values it keeps the one
// that was asked for first. What it holds depends on the entries and not on their order.
//
// Where goals have boxes, Entries returns one entry of each box that no other box dominates: an ε-Pareto front (Laumanns, Thiele, Deb and
// Zitzler, "Combining convergence and diversity in evolutionary multiobjective optimization", 2002). Of the entries of a box it is the one
// with the least cost.
type Front struct {
	goals Goals
	on    []fronted
}

// fronted is an entry with its values.
type fronted struct {
	entry  Entry
	values []float64
}

// NewFront returns a front for some goals.
func NewFront(goals Goals) *Front { return &Front{goals: goals} }

// Offer offers an entry. It reports whether the front holds it now. Only outcomes that count and have all metrics can be on a front.
func (f *Front) Offer(e Entry) bool {
	values, ok := f.goals.Values(e.Outcome)
	if !ok || !e.Outcome.Counts() {
		return false
	}
	for _, other := range f.on {
		if Dominates(other.values, values) || slices.Equal(other.values, values) && other.entry.Number <= e.Number {
			return false
		}
	}
	f.on = slices.DeleteFunc(f.on, func(other fronted) bool {
		return Dominates(values, other.values) || slices.Equal(values, other.values)
	})
	f.on = append(f.on, fronted{e, values})
	return true
}

// Entries returns what the front holds, the least cost first; of what lies in the same boxes, one entry.
func (f *Front) Entries() []Entry {
	slices.SortFunc(f.on, func(a, b fronted) int {
		return cmp.Or(slices.Compare(a.values, b.values), cmp.Compare(a.entry.Number, b.entry.Number))
	})
	out := make([]Entry, 0, len(f.on))
	boxed := slices.ContainsFunc(f.goals, func(g Goal) bool { return g.Box > 0 })
	var boxes [][]float64
	for _, one := range f.on {
		if boxed {
			boxes = append(boxes, f.boxOf(one.values))
		}
	}
	for i, one := range f.on {
		if !boxed || !covered(boxes, i) {
			out = append(out, one.entry)
		}
	}
	return out
}

// boxOf returns the places of values among the boxes of their goals.
func (f *Front) boxOf(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = f.goals[i].box(v)
	}
	return out
}

// covered reports whether one of the boxes before box i is the same, or any one dominates it.
func covered(boxes [][]float64, i int) bool {
	for j, other := range boxes {
		if Dominates(other, boxes[i]) || j < i && slices.Equal(other, boxes[i]) {
			return true
		}
	}
	return false
}

// Hypervolume returns how much of the space below a reference point some values dominate: the larger, the better. Values that are not
// below the reference in every place add nothing.
func Hypervolume(values [][]float64, reference []float64) float64 {
	var inside [][]float64
	for _, v := range values {
		below := true
		for i := range reference {
			below = below && v[i] < reference[i]
		}
		if below {
			inside = append(inside, v)
		}
	}
	return sliced(inside, reference)
}

// sliced sums up the volume in slices along the last place: "HSO" of While, Hingston, Barone and Huband ("A faster algorithm for
// calculating hypervolume", 2006).
func sliced(values [][]float64, reference []float64) (volume float64) {
	if len(values) == 0 {
		return 0
	}
	last := len(reference) - 1
	if last == 0 {
		least := math.Inf(1)
		for _, v := range values {
			least = min(least, v[0])
		}
		return reference[0] - least
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	for i, v := range sorted {
		end := reference[last]
		if i+1 < len(sorted) {
			end = sorted[i+1][last]
		}
		if end > v[last] {
			volume += (end - v[last]) * sliced(sorted[:i+1], reference[:last])
		}
	}
	return volume
}
