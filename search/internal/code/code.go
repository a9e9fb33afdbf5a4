// Package code represents the points of a space as vectors of ordinals, for the strategies that move among ordinals. It knows
// which parameters are ordered, what is near a point, and which valid unseen point to take for a vector that is invalid or
// already seen.
package code

import (
	"math"
	"math/rand/v2"
	"slices"

	"tune/search"
	"tune/space"
)

// Code is a space represented by its ordinals, with a memory of what was asked. It is not safe for concurrent use.
type Code struct {
	Space *space.Space
	// Sizes are those of the parameters' domains.
	Sizes []int
	// Ordered says for each parameter whether neighbouring ordinals are similar values.
	Ordered []bool
	// Fresh has the points that were not asked yet.
	Fresh *search.Fresh
	rng   *rand.Rand
	start []space.Point
	reach []float64              // of the domains
	at    []int                  // memory of kick
	costs search.Column[float64] // of the points that Fresh has numbered; NaN where none is known
}

// New returns the code of a space. Newcomers are the points of start first. Strategies that share a search share fresh; nil makes
// one from the seed.
func New(s *space.Space, seed uint64, rng *rand.Rand, start []space.Point, fresh *search.Fresh) *Code {
	if fresh == nil {
		fresh = search.SeededFresh(s, seed)
	}
	c := &Code{Space: s, Fresh: fresh, rng: rng, start: start}
	for _, p := range s.Parameters() {
		c.Sizes, c.Ordered, c.reach = append(c.Sizes, p.Len()), append(c.Ordered, Ordered(p)), append(c.reach, reach(p.Len()))
	}
	return c
}

// Ordered reports whether neighbouring ordinals of a parameter are similar values: integers, powers of two, and listed numbers
// that ascend or descend.
func Ordered(p space.Parameter) bool {
	switch p.Type {
	case space.TypeInt, space.TypePow2:
		return true
	case space.TypeBool:
		return false
	}
	numbers := make([]float64, p.Len())
	for i, v := range p.Values {
		var ok bool
		if numbers[i], ok = v.Number(); !ok {
			return false
		}
	}
	if !slices.IsSorted(numbers) {
		slices.Reverse(numbers)
	}
	return slices.IsSorted(numbers)
}

// Newcomer returns the next point of the start, or, once those are asked, a random one.
func (c *Code) Newcomer() (space.Point, bool) {
	for len(c.start) > 0 {
		p := c.start[0]
		c.start = c.start[1:]
		if c.Fresh.Mark(p) {
			return p, true
		}
	}
	return c.Fresh.Draw()
}

// Centre returns the valid point whose ordinals are near the middle of their domains.
func Centre(s *space.Space) space.Point {
	var middle, sizes []int
	for _, p := range s.Parameters() {
		sizes, middle = append(sizes, p.Len()), append(middle, p.Len()/2)
	}
	if p, ok := s.Complete(middle); ok {
		return p
	}
	off := func(p space.Point) float64 {
		sum := 0.0
		for i, n := range sizes {
			if o := p.Ordinal(i); o >= 0 {
				sum += math.Abs(float64(o-middle[i])) / float64(n)
			}
		}
		return sum
	}
	// Take the nearest of a sample, and then descend.
	rng := rand.New(rand.NewPCG(0, 0))
	best := s.Default()
	least := off(best)
	for range centreSample {
		p, err := s.Sample(rng)
		if err != nil {
			break
		}
		if d := off(p); d < least {
			best, least = p, d
		}
	}
	for moved := true; moved; {
		moved = false
		for _, p := range s.Neighbours(best, space.AnyValue) {
			if d := off(p); d < least {
				best, least, moved = p, d, true
			}
		}
	}
	return best
}

// centreSample is how many random points Centre begins with.
const centreSample = 256

// The length of a step has a uniform logarithm, from 1 to the size of the domain divided by longestStep. leastStep is the upper
// bound where that quotient is smaller: a step of 1. Both were chosen by hand.
const longestStep, leastStep = 4, 1.999

// Step returns an ordinal other than v of a domain of n, which is at least two. In an ordered domain it is up to a quarter of the
// domain away, most likely near; otherwise it is any other ordinal.
func Step(rng *rand.Rand, v, n int, ordered bool) int { return step(rng, v, n, ordered, reach(n)) }

// reach is the logarithm of the longest step in a domain of n.
func reach(n int) float64 { return math.Log(max(float64(n)/longestStep, leastStep)) }

// step is Step where reach(n) is known.
func step(rng *rand.Rand, v, n int, ordered bool, reach float64) int {
	if !ordered {
		return other(rng, v, n)
	}
	length, down := draw(rng)
	step := stepOf(length * reach)
	if down {
		step = -step
	}
	if w := v + step; w < 0 || w >= n {
		step = -step
	}
	return max(0, min(v+step, n-1))
}

// draw draws the length of a step, as a part of the reach, and whether it goes down.
func draw(rng *rand.Rand) (length float64, down bool) { return rng.Float64(), rng.IntN(2) == 0 }

// shortest is a little less than the logarithm of 2: a step whose length has a smaller logarithm is one of 1.
const shortest = 0.693

// stepOf returns the step whose length has a logarithm.
func stepOf(log float64) int {
	if log < shortest { // as most are
		return 1
	}
	return int(math.Exp(log))
}

// other returns any ordinal other than v of a domain of n, which is at least two.
func other(rng *rand.Rand, v, n int) int { return (v + 1 + rng.IntN(n-1)) % n }

// Step changes ordinal i of a vector as the function Step does. An inactive one stays.
func (c *Code) Step(ords []int, i int) {
	if ords[i] >= 0 && c.Sizes[i] > 1 {
		ords[i] = step(c.rng, ords[i], c.Sizes[i], c.Ordered[i], c.reach[i])
	}
}

// Mutable lists the parameters of a vector that can change; sizes are those of their domains.
func Mutable(ords, sizes []int) []int { return AppendMutable(nil, ords, sizes) }

// AppendMutable appends Mutable to a list.
func AppendMutable(out, ords, sizes []int) []int {
	for i, o := range ords {
		if o >= 0 && sizes[i] > 1 {
			out = append(out, i)
		}
	}
	return out
}

// Kick changes count different parameters of a vector, or all where there are fewer.
func (c *Code) Kick(ords []int, count int) {
	c.at = AppendMutable(c.at[:0], ords, c.Sizes)
	c.kick(ords, c.at, count)
}

// KickAmong is Kick for some of the parameters, which ascend.
func (c *Code) KickAmong(ords, some []int, count int) {
	c.at = c.at[:0]
	for _, i := range some {
		if ords[i] >= 0 && c.Sizes[i] > 1 {
			c.at = append(c.at, i)
		}
	}
	c.kick(ords, c.at, count)
}

// KickSome is KickAmong where all of these parameters have a value and several to choose from. It returns those that it has changed, until
// the next call.
func (c *Code) KickSome(ords, some []int, count int) []int {
	c.at = append(c.at[:0], some...)
	c.kick(ords, c.at, count)
	return c.at[:min(count, len(c.at))]
}

// KickOne returns the parameter that KickSome would change, where it changes one, and the ordinal that it would give it. The ordinal is -1 where
// from has none for this parameter.
func (c *Code) KickOne(ords, some, from []int) (i, ord int) {
	i = some[c.rng.IntN(len(some))]
	if n := c.Sizes[i]; from[i] >= 0 {
		return i, step(c.rng, ords[i], n, c.Ordered[i], c.reach[i])
	} else if c.Ordered[i] {
		draw(c.rng)
	} else {
		c.rng.IntN(n - 1)
	}
	return i, -1
}

func (c *Code) kick(ords, at []int, count int) {
	for k := range min(count, len(at)) {
		j := k + c.rng.IntN(len(at)-k)
		at[k], at[j] = at[j], at[k]
		c.Step(ords, at[k])
	}
}

// neighbourTries is how many moves Neighbour tries before it gives up.
const neighbourTries = 32

// The weights of Neighbour's moves: an adjacent value, any value, two parameters one step in opposite directions, two parameters
// to any value. They were chosen by hand.
const (
	adjacentMoves = 2
	anyMoves      = 2
	oppositeMoves = 1
	pairMoves     = 1
)

// Neighbour returns a random valid point near p, seen or not. It chooses among four moves at random: one parameter takes an
// adjacent value; one takes any value; two parameters take any values; two ordered ones move one step in opposite directions,
// which keeps a product that a constraint limits roughly the same.
func (c *Code) Neighbour(p space.Point) (space.Point, bool) {
	at := Mutable(p.Ordinals(), c.Sizes)
	if len(at) == 0 {
		return space.Point{}, false
	}
	for range neighbourTries {
		ords := p.Ordinals()
		i := at[c.rng.IntN(len(at))]
		j := at[c.rng.IntN(len(at))]
		move := c.rng.IntN(adjacentMoves + anyMoves + oppositeMoves + pairMoves)
		switch {
		case move < adjacentMoves && c.Ordered[i]:
			ords[i] += 1 - 2*c.rng.IntN(2)
		case move < adjacentMoves+anyMoves || i == j:
			c.other(ords, i)
		case move < adjacentMoves+anyMoves+oppositeMoves && c.Ordered[i] && c.Ordered[j]:
			ords[i]++
			ords[j]--
		default:
			c.other(ords, i)
			c.other(ords, j)
		}
		if c.inside(ords) {
			if q, ok := c.Space.Complete(ords); ok && !q.Equal(p) {
				return q, true
			}
		}
	}
	return space.Point{}, false
}

// other gives ordinal i any other value.
func (c *Code) other(ords []int, i int) {
	ords[i] = other(c.rng, ords[i], c.Sizes[i])
}

// inside reports whether every ordinal is within its domain. An inactive parameter has the ordinal -1 before any step.
func (c *Code) inside(ords []int) bool {
	for i, o := range ords {
		if o < -1 || o >= c.Sizes[i] {
			return false
		}
	}
	return true
}

// unseenTries is how often Unseen changes a vector that cannot be asked for. After every kickGrowth tries it changes one
// parameter more. Both were chosen by hand.
const unseenTries, kickGrowth = 20, 6

// Unseen returns a valid point that was not asked for before: one near the vector if a few random changes find one, otherwise
// any. It returns false when all points were asked for. The vector changes.
func (c *Code) Unseen(ords []int) (space.Point, bool) {
	for try := range unseenTries {
		if p, ok := c.Space.Complete(ords); ok && c.Fresh.Mark(p) {
			return p, true
		}
		c.Kick(ords, 1+try/kickGrowth)
	}
	return c.Fresh.Draw()
}

// Vector returns the ordinals of a point scaled to 0 to 1. An inactive parameter is at 0.5.
func (c *Code) Vector(p space.Point) []float64 {
	x := make([]float64, len(c.Sizes))
	for i, n := range c.Sizes {
		if o := p.Ordinal(i); o < 0 {
			x[i] = 0.5
		} else {
			x[i] = (float64(o) + 0.5) / float64(n)
		}
	}
	return x
}

// Ordinals is the inverse of Vector. It gives every parameter a value, and clamps what is outside the domain.
func (c *Code) Ordinals(x []float64) []int {
	ords := make([]int, len(x))
	for i, n := range c.Sizes {
		ords[i] = int(max(0, min(x[i]*float64(n), float64(n-1))))
	}
	return ords
}

// Learn keeps the cost of a point.
func (c *Code) Learn(p space.Point, cost float64) {
	i := c.Fresh.Number(p)
	for c.costs.Len() <= i {
		c.costs.Append(math.NaN())
	}
	*c.costs.At(i) = cost
}

// Known returns the cost of a point that was learned.
func (c *Code) Known(p space.Point) (cost float64, ok bool) {
	i, ok := c.Fresh.Known(p)
	if !ok || i >= c.costs.Len() {
		return 0, false
	}
	cost = *c.costs.At(i)
	return cost, !math.IsNaN(cost)
}
