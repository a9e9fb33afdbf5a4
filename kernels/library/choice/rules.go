package choice

import (
	"math"
	"slices"
)

// Rule makes a chooser of a matrix.
type Rule struct {
	Name  string
	Train func(Matrix) (Chooser, error)
}

// fixed chooses the same variant everywhere.
type fixed int

func (f fixed) At([]int64) int { return int(f) }

// OneForAll is the rule that takes the variant with the least weighted mean regret for every shape.
func OneForAll() Rule {
	return Rule{"one for all", func(m Matrix) (Chooser, error) {
		c, err := Choose(m, 1, Search{})
		if err != nil {
			return nil, err
		}
		return fixed(c.Variants[0]), nil
	}}
}

// Library is the rule of this package: at most k variants by Choose, and a tree of them by Grow.
func Library(k int, s Search, g Growth) Rule {
	return Rule{"library", func(m Matrix) (Chooser, error) {
		c, err := Choose(m, k, s)
		if err != nil {
			return nil, err
		}
		return Grow(m, slices.Clone(c.Variants), g)
	}}
}

// logDistance is the distance of two shapes where each doubling of a field counts the same. 0 counts as a half.
func logDistance(a, b []int64) float64 {
	sum := 0.0
	for f := range a {
		d := math.Log2(max(float64(a[f]), 0.5)) - math.Log2(max(float64(b[f]), 0.5))
		sum += d * d
	}
	return math.Sqrt(sum)
}
