package insight

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tune/internal/plain"
)

// Share is a part of the variance of the costs.
type Share struct {
	Parameters []string `json:"parameters"` // one, or the two of a pair
	Share      float64  `json:"share"`      // from 0 to 1
}

// String writes a share in short: isa 61 %, or mr × nr 22 %.
func (s Share) String() string {
	return strings.Join(s.Parameters, " × ") + " " + plain.Number(math.Round(100*s.Share)) + " %"
}

// Shares say how much of the variance of the costs comes from which parameters, as functional analysis of variance does (Hooker,
// "Generalized functional ANOVA diagnostics", 2007; Hutter, Hoos and Leyton-Brown, "An efficient approach for assessing
// hyperparameter importance", 2014). All points weigh the same. The share of a parameter is the variance of the mean cost at each of
// its values, over the variance of all. The share of a pair is what the means at each combination of their values vary beyond
// that: what the two do together that neither does alone. Constraints make parameters depend on each other. Then a pair may
// say less than its parameters do one by one, and its share is 0; and the shares need not add up to 1.
//
// A parameter with a condition has its share among the points where it is active, and a pair where both are: the variance there, times the
// part of the points that these are. So the difference between points with the parameter and points without it counts once, for the
// parameters of the condition: they decide it.
type Shares struct {
	Single []Share `json:"single,omitempty"` // of each parameter with several values where it is active, the largest first
	Pairs  []Share `json:"pairs,omitempty"`  // of each pair of them, the largest first
	// Points is how many points they are computed from; the largest int stands for more. All says that these are all points of the
	// space. Then the shares of costs are exact. Those of a model are too where points are at most 16,384; else they are off by less
	// than a thousandth. Otherwise the points are a sample, and a share is off by about a hundredth.
	Points int  `json:"points"`
	All    bool `json:"all,omitempty"`
	// Log says that the logarithms of the costs are analysed, so that twice the cost counts the same anywhere. That is so where all
	// costs are above 0.
	Log bool `json:"log,omitempty"`
	// Overlap says that the shares add up to more than 1, because parameters depend on each other: a part of the variance counts in several.
	Overlap bool `json:"overlap,omitempty"`
}

// mostSum is what shares may add up to before they overlap; a word on them has whole hundredths.
const mostSum = 1.005

// mostBins is into how many groups the values of a parameter are put at most.
const mostBins = 64

// column is a parameter of a sample.
type column struct {
	name string
	at   []int32 // the group of each point, from 0; -1 where the parameter is inactive
	bins int
}

// newColumn makes a column of ordinals below size; -1 is that of an inactive parameter. Neighbouring values share a group where there are
// many. It reports whether active points are in several groups.
func newColumn(name string, ordinals []int, size int) (c column, varied bool) {
	c = column{name: name, at: make([]int32, len(ordinals)), bins: min(size, mostBins)}
	first := int32(-1)
	for i, o := range ordinals {
		c.at[i] = int32(binOf(o, size))
		if first < 0 {
			first = c.at[i]
		}
		varied = varied || c.at[i] >= 0 && c.at[i] != first
	}
	return c, varied
}

// binOf is the group of an ordinal; -1 where the parameter is inactive.
func binOf(o, size int) int {
	if size > mostBins && o >= 0 {
		return int(float64(o) / float64(size) * mostBins)
	}
	return o
}

// group stands for some points: their number or their probability, and how much their costs are above the mean of all, added up.
type group struct{ mass, sum float64 }

func (g *group) add(o group) { g.mass, g.sum = g.mass+o.mass, g.sum+o.sum }

// squaresBetween returns the sum of squares between groups, about the mean of the points in them: that of the variance of their means.
func squaresBetween(groups []group) (squares float64) {
	var all group
	for _, g := range groups {
		if g.mass > 0 {
			squares += g.sum * g.sum / g.mass
			all.add(g)
		}
	}
	if all.mass > 0 {
		squares -= all.sum * all.sum / all.mass
	}
	return max(squares, 0)
}

// margins adds up the groups of two parameters over each of them. Those with the same value of the first parameter follow each other.
func margins(cells []group, first, second int) (firsts, seconds []group) {
	firsts, seconds = make([]group, first), make([]group, second)
	for i, g := range cells {
		firsts[i/second].add(g)
		seconds[i%second].add(g)
	}
	return firsts, seconds
}

// sample computes shares from the costs of points.
type sample struct {
	y      []float64 // less their mean
	covers bool      // whether they are all points of the space
	cells  []group
}

// analyse computes shares from a sample.
func analyse(columns []column, y []float64, covers bool) Shares {
	out := Shares{Points: len(y), All: covers}
	s, total := centred(y, covers)
	if !(total > 0) {
		return out
	}
	out.Single, out.Pairs = make([]Share, len(columns)), make([]Share, len(columns)*(len(columns)-1)/2)
	inTwo(len(columns), func() func(int) {
		s := sample{y: s.y, covers: covers}
		return func(k int) {
			a := columns[k]
			out.Single[k] = Share{[]string{a.name}, min(s.alone(a)/total, 1)}
			pairs := out.Pairs[k*(k-1)/2:]
			for i, b := range columns[:k] {
				pairs[i] = Share{[]string{b.name, a.name}, min(s.together(b, a)/total, 1)}
			}
		}
	})
	out.finish()
	return out
}

// centred returns the sample of costs, and the sum of the squares of their distances from the mean; 0 where it is too large.
func centred(y []float64, covers bool) (s sample, total float64) {
	mean := 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	s = sample{y: make([]float64, len(y)), covers: covers}
	for i, v := range y {
		s.y[i] = v - mean
		total += s.y[i] * s.y[i]
	}
	if math.IsInf(total, 0) {
		total = 0
	}
	return s, total
}

// group puts the points into the groups of a column, and returns the sum of the squares of their costs. Points where the parameter is
// inactive are left out.
func (s *sample) group(c column) (squares float64) {
	s.cells = zeros(s.cells, c.bins)
	at := c.at[:len(s.y)]
	for i, v := range s.y {
		if k := at[i]; k >= 0 {
			s.cells[k].add(group{1, v})
			squares += v * v
		}
	}
	return squares
}

// alone returns the sum of squares between the values of a parameter, where it is active.
func (s *sample) alone(a column) float64 {
	squares := s.group(a)
	return max(s.between(s.cells, squares), 0)
}

// together returns that between the combinations of the values of two parameters beyond those of each, where both are active.
func (s *sample) together(a, b column) float64 {
	squares := 0.0
	s.cells = zeros(s.cells, a.bins*b.bins)
	first, second, n := a.at[:len(s.y)], b.at[:len(s.y)], int32(b.bins)
	for i, v := range s.y {
		if x, y := first[i], second[i]; x >= 0 && y >= 0 {
			s.cells[x*n+y].add(group{1, v})
			squares += v * v
		}
	}
	of, with := margins(s.cells, a.bins, b.bins)
	return max(s.between(s.cells, squares)-s.between(of, squares)-s.between(with, squares), 0)
}

// between returns the sum of squares between groups, given that of all their points. Where the sample does not cover the space,
// what chance alone would give is taken away (Kelley, "An unbiased correlation ratio measure", 1935).
func (s *sample) between(groups []group, squares float64) float64 {
	found := squaresBetween(groups)
	if s.covers {
		return found
	}
	var all group
	used := 0
	for _, g := range groups {
		if all.add(g); g.mass > 0 {
			used++
		}
	}
	left := int(all.mass) - used
	if left <= 0 {
		return 0
	}
	within := squares - all.sum*all.sum/all.mass - found
	return max(found-float64(used-1)*within/float64(left), 0)
}

// finish puts the largest shares first, and finds whether they overlap.
func (s *Shares) finish() {
	sum := 0.0
	for _, list := range [][]Share{s.Single, s.Pairs} {
		slices.SortStableFunc(list, func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), slices.Compare(a.Parameters, b.Parameters))
		})
		for _, one := range list {
			sum += one.Share
		}
	}
	s.Overlap = sum > mostSum
}

// scale makes shares of the variance of a model shares of a variance of which that is a part.
func (s *Shares) scale(part float64) {
	for _, list := range [][]Share{s.Single, s.Pairs} {
		for i := range list {
			list[i].Share *= part
		}
	}
}

// logs returns the logarithms of costs if all are above 0.
func logs(costs []float64) (values []float64, log bool) {
	for _, c := range costs {
		if c <= 0 {
			return costs, false
		}
	}
	values = make([]float64, len(costs))
	for i, c := range costs {
		values[i] = math.Log(c)
	}
	return values, true
}
