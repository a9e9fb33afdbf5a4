package insight

import (
	"cmp"
	"fmt"
	"slices"
)

// portion is a part of the variance of outcomes that a parameter explains, or a pair.
type portion struct {
	Share
	// alike are parameters that explain nearly the same part, because the outcomes have them vary together with the parameter.
	alike []string
}

// String writes a part in short: isa 61 %, or tile or unroll 22 %.
func (p portion) String() string {
	of := p.Share
	switch len(p.alike) {
	case 0:
	case 1:
		of.Parameters = []string{p.Parameters[0] + " or " + p.alike[0]}
	default:
		of.Parameters = []string{fmt.Sprintf("%s or one of %d that vary with it", p.Parameters[0], len(p.alike))}
	}
	return of.String()
}

// nearly is the least share of what a parameter explains that another one explains which is like it.
const nearly = 0.9

// explained takes the variance of outcomes apart, by forward selection: the parameter that explains most, the one that explains most of
// what is left, and so on, and then pairs, of those given. A parameter that comes again has its parts in one.
// Parameters that vary together each have the whole of their shares; their parts add up to 1 at most. Parts that are not worth a word are
// left out. The largest comes first. whole says that nothing is left to chance. noisy says that costs may depend on other things too:
// then a part that chance might give is left out.
func explained(columns []column, y []float64, pairs []Share, whole, noisy bool) (out []portion) {
	s, total := centred(y, whole)
	if !(total > 0) {
		return nil
	}
	alone, at := make([]float64, len(columns)), map[string]int{} // at is the place of a parameter in out
	for {
		best := -1
		var r ranks
		if noisy {
			r = s.ranked()
		}
		for k, c := range columns {
			alone[k] = s.alone(c) / total
			if noisy && alone[k] >= leastMattering && !r.stands(c, len(columns), mistaken) {
				alone[k] = 0
			}
			if best < 0 || alone[k] > alone[best] {
				best = k
			}
		}
		if best < 0 || alone[best] < leastMattering {
			break
		}
		s.remove(columns[best])
		// To remove a parameter may bring back some of another one that varies with it.
		if i, is := at[columns[best].name]; is {
			out[i].Share.Share += alone[best]
			continue
		}
		p := portion{Share: Share{[]string{columns[best].name}, alone[best]}}
		at[columns[best].name] = len(out)
		for k, c := range columns {
			if alone[k] >= nearly*alone[best] && k != best && s.alone(c)/total < leastMattering {
				p.alike = append(p.alike, c.name)
				at[c.name] = len(out)
			}
		}
		out = append(out, p)
	}
	for _, pair := range pairs {
		if pair.Share < leastMattering {
			break // the largest come first
		}
		a, b := columnNamed(columns, pair.Parameters[0]), columnNamed(columns, pair.Parameters[1])
		if share := s.together(a, b) / total; share >= leastMattering {
			if noisy {
				if r := s.ranked(); !r.standTogether(a, b, len(pairs), mistaken) {
					continue
				}
			}
			out = append(out, portion{Share: Share{pair.Parameters, share}})
			s.remove(a.with(b))
		}
	}
	slices.SortStableFunc(out, func(a, b portion) int { return cmp.Compare(b.Share.Share, a.Share.Share) })
	return out
}

func columnNamed(columns []column, name string) column {
	return columns[slices.IndexFunc(columns, func(c column) bool { return c.name == name })]
}

// with is the column of the combinations of two parameters.
func (c column) with(o column) column {
	both := column{at: make([]int32, len(c.at)), bins: c.bins * o.bins}
	for i := range both.at {
		if both.at[i] = -1; c.at[i] >= 0 && o.at[i] >= 0 {
			both.at[i] = c.at[i]*int32(o.bins) + o.at[i]
		}
	}
	return both
}

// remove takes from the costs what a parameter explains of them, where it is active.
func (s *sample) remove(c column) {
	s.group(c)
	var all group
	for _, g := range s.cells {
		all.add(g)
	}
	for i, k := range c.at {
		if k >= 0 {
			s.y[i] -= s.cells[k].sum/s.cells[k].mass - all.sum/all.mass
		}
	}
}
