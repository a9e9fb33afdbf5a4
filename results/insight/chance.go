package insight

import "gonum.org/v1/gonum/stat/distuv"

// mistaken is how often costs that depend on nothing may have a part that stands out, in all parameters together, and in all pairs. It is small,
// because a model may be mistaken too.
const mistaken = 0.001

// stands reports whether the values of a parameter differ by more than chance gives, one of so many that are looked at. It is the F test of the
// analysis of variance, at a level that all of them share (Bonferroni).
func (s *sample) stands(c column, of int) bool {
	squares := s.group(c)
	found := squaresBetween(s.cells)
	used, within, left := s.rest(squares)
	return beyond(found, used-1, within-found, left, of)
}

// standTogether reports the same of what two parameters do together that neither does alone, one of so many pairs.
func (s *sample) standTogether(a, b column, of int) bool {
	squares := s.group(a.with(b))
	first, second := margins(s.cells, a.bins, b.bins)
	all := squaresBetween(s.cells)
	used, within, left := s.rest(squares)
	return beyond(all-squaresBetween(first)-squaresBetween(second), used-usedOf(first)-usedOf(second)+1, within-all, left, of)
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
func beyond(found float64, dof int, within float64, left, of int) bool {
	if dof <= 0 || left <= 0 {
		return false
	}
	if !(within > 0) {
		return found > 0 // nothing is left to chance
	}
	f := distuv.F{D1: float64(dof), D2: float64(left)}
	return found/float64(dof)*float64(left)/within > f.Quantile(1-mistaken/float64(of))
}
