package insight

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// mistaken is how often costs that depend on nothing may have a part that stands out, in all parameters together, and in all pairs. It is small,
// because a model may be mistaken too.
const mistaken = 0.001

// mostTied is the largest part of the costs that may be the same for a test to say something.
const mostTied = 0.9

// ranks is a sample with ranks in place of costs, the same one for the same cost. It has no points where nearly all costs are the same.
type ranks struct{ sample }

// ranked ranks the costs.
func (s *sample) ranked() (r ranks) {
	order := make([]int, len(s.y))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(s.y[a], s.y[b]) })
	r.y = make([]float64, len(s.y))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && s.y[order[to]] == s.y[order[from]] {
			to++
		}
		if float64(to-from) > mostTied*float64(len(order)) {
			return ranks{}
		}
		for _, i := range order[from:to] {
			r.y[i] = float64(from+to-len(order)) / 2 // the ranks have the mean 0
		}
		from = to
	}
	return r
}

// stands reports whether the values of a parameter differ by more than chance gives, one of so many that are looked at. It is the F test of the
// analysis of variance on the ranks of the costs (Conover and Iman, "Rank transformations as a bridge between parametric and nonparametric
// statistics", 1981), at a level that all of them share (Bonferroni). Of the costs themselves, one that is far
// away would decide the test.
func (r *ranks) stands(c column, of int, level float64) bool {
	if len(r.y) == 0 {
		return false
	}
	squares := r.group(c)
	found := squaresBetween(r.cells)
	used, about, left := r.rest(squares)
	return beyond(found, used-1, about-found, left, level/float64(of))
}

// standTogether reports the same of what two parameters do together that neither does alone, one of so many pairs.
func (r *ranks) standTogether(a, b column, of int, level float64) bool {
	if len(r.y) == 0 {
		return false
	}
	squares := r.group(a.with(b))
	first, second := margins(r.cells, a.bins, b.bins)
	all := squaresBetween(r.cells)
	used, about, left := r.rest(squares)
	return beyond(all-squaresBetween(first)-squaresBetween(second), used-usedOf(first)-usedOf(second)+1, about-all, left, level/float64(of))
}

// rest returns how many of the groups have points, the squares of all of these about their mean, and how many points there are beyond one a group.
func (s *sample) rest(squares float64) (used int, about float64, left int) {
	var all group
	for _, g := range s.cells {
		all.add(g)
	}
	used = usedOf(s.cells)
	return used, squares - all.sum*all.sum/all.mass, int(all.mass) - used
}

func usedOf(groups []group) (used int) {
	for _, g := range groups {
		if g.mass > 0 {
			used++
		}
	}
	return used
}

// beyond reports whether found, with so many degrees of freedom, is more than chance gives beside what is within the groups.
func beyond(found float64, dof int, within float64, left int, level float64) bool {
	if dof <= 0 || left <= 0 {
		return false
	}
	if !(within > 0) {
		return found > 0 // nothing is left to chance
	}
	f := distuv.F{D1: float64(dof), D2: float64(left)}
	return found/float64(dof)*float64(left)/within > f.Quantile(1-level)
}
