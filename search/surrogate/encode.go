package surrogate

import (
	"math"
	"math/bits"

	"tune/search/internal/code"
	"tune/space"
)

// encoder turns points into vectors whose Euclidean distance says how different the points are. Features come in groups; the
// model learns a weight for each group.
//
//   - An ordered parameter is a number in [0, 1]. It is the logarithm of the value, scaled to the range of the domain,
//     where all values are positive and span a factor of four; otherwise the value itself, scaled in the same way, or
//     the ordinal where all values are the same number.
//   - Listed or stepped integers that are not all powers of two have a second feature, in a group of its own: how often
//     2 divides them. Alignment matters to kernels as much as size.
//   - Any other parameter is a corner of a simplex, so that all different values are equally far apart.
//   - A parameter with a condition has a feature that says whether it is active.
type encoder struct {
	params   []encoded
	group    []int  // of each feature, ascending
	switches []bool // of each group: whether it has two values
	aligns   bool   // whether the values of some parameter differ in alignment
}

// part is the encoding of one parameter.
type encoded struct {
	param  space.Parameter
	table  [][]float64 // features by ordinal; nil for a domain too wide to list
	log    bool
	lo, hi float64
	first  int // feature
	width  int
	// twos is how often 2 divides each value, where that is the second feature; otherwise nil.
	twos   []int
	active int // the feature that says whether it is active; -1 where it always is
}

func newEncoder(s *space.Space) *encoder {
	e := &encoder{}
	for _, p := range s.Parameters() {
		c := encoded{param: p, first: len(e.group), active: -1}
		switch n := p.Len(); {
		case n < 2:
		case code.Ordered(p):
			e.aligns = c.order(p) || e.aligns
			for range c.width {
				e.add(1, n == 2)
			}
		case n == 2:
			c.width, c.table = 1, [][]float64{{0}, {1}}
			e.add(1, true)
		case n <= listedDomain:
			c.width = n
			e.add(n, false)
			for o := range n {
				row := make([]float64, n)
				row[o] = math.Sqrt2 / 2
				c.table = append(c.table, row)
			}
		}
		if p.When != "" {
			c.active = len(e.group)
			e.add(1, true)
		}
		e.params = append(e.params, c)
	}
	return e
}

// add adds a group of features.
func (e *encoder) add(features int, two bool) {
	for range features {
		e.group = append(e.group, len(e.switches))
	}
	e.switches = append(e.switches, two)
}

// alignment sums over the parameters how often 2 divides the values, for those that have this feature.
func (e *encoder) alignment(p space.Point) int {
	sum := 0
	for i := range e.params {
		if c, o := &e.params[i], p.Ordinal(i); c.twos != nil && o >= 0 {
			sum += min(c.twos[o], mostTwos)
		}
	}
	return sum
}

// order encodes an ordered parameter, and reports whether its alignment is a feature.
func (c *encoded) order(p space.Parameter) bool {
	n := p.Len()
	a, _ := p.At(0).Number()
	b, _ := p.At(n - 1).Number()
	c.lo, c.hi = min(a, b), max(a, b)
	if c.lo > 0 && c.hi/4 >= c.lo {
		c.log, c.lo, c.hi = true, math.Log(c.lo), math.Log(c.hi)
	}
	// Different values may convert to one float, or to floats too close to tell apart.
	together := c.hi/2-c.lo/2 == 0
	c.width = 1
	if n > listedDomain {
		return false
	}
	if c.twos = valuations(p); c.twos != nil {
		c.width = 2
	}
	for o := range n {
		row := []float64{float64(o) / float64(n-1)}
		if v, _ := p.At(o).Number(); !together {
			row[0] = c.scale(v)
		}
		if c.twos != nil {
			row = append(row, float64(min(c.twos[o], featureTwos))/featureTwos)
		}
		c.table = append(c.table, row)
	}
	return c.twos != nil
}

func (c *encoded) scale(v float64) float64 {
	if c.log {
		v = math.Log(v)
	}
	// The numbers are halved first, because the difference of two finite numbers may overflow.
	return (v/2 - c.lo/2) / (c.hi/2 - c.lo/2)
}

// encode returns the features of a point.
func (e *encoder) encode(p space.Point) []float64 {
	x := make([]float64, len(e.group))
	for i := range e.params {
		e.write(i, p.Ordinal(i), x)
	}
	return x
}

// write writes the features of parameter i at an ordinal, -1 where it is inactive, to their places among those of a point, which are 0.
func (e *encoder) write(i, o int, x []float64) {
	c := &e.params[i]
	if o < 0 {
		for j := range c.width {
			x[c.first+j] = 0.5
		}
		return
	}
	if c.active >= 0 {
		x[c.active] = 1
	}
	switch {
	case c.table != nil:
		copy(x[c.first:], c.table[o])
	case c.width > 0:
		v, _ := c.param.At(o).Number()
		x[c.first] = c.scale(v)
	}
}

// features returns the places of the features of parameter i: those from the first up to the end.
func (e *encoder) features(i int) (first, end int) {
	c := &e.params[i]
	if c.active >= 0 {
		return c.first, c.active + 1
	}
	return c.first, c.first + c.width
}

// valuations returns how often 2 divides each of the integers, or nil where that adds nothing to the size: for fewer than four
// values, and where all are powers of two.
func valuations(p space.Parameter) (twos []int) {
	if p.Type == space.TypePow2 || p.Len() < 4 {
		return nil
	}
	varied := false
	for o := range p.Len() {
		v, ok := p.At(o).Any().(int64)
		if !ok {
			return nil
		}
		u := uint64(max(v, -v))
		twos = append(twos, bits.TrailingZeros64(u))
		varied = varied || u&(u-1) != 0
	}
	if !varied {
		return nil
	}
	return twos
}
