package choice

import (
	"fmt"
	"math"
	"slices"
)

// Rule makes a chooser of a matrix.
type Rule struct {
	Name  string
	Train func(Matrix) (Chooser, error)
}

// Library is the rule of this package: the dispatcher of at most k variants that Dispatch returns.
func Library(k int, s Search, g Growth) Rule {
	return Rule{"library", func(m Matrix) (Chooser, error) {
		tree, err := Dispatch(m, k, s, g)
		if err != nil {
			return nil, err
		}
		return tree, nil
	}}
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

// Nearest is the rule that takes the variant that was tuned at the nearest shape of the matrix, where each doubling of a field
// counts the same, and 0 as a half. Of shapes equally near, the first in the order of their fields counts.
func Nearest() Rule {
	return Rule{"nearest", func(m Matrix) (Chooser, error) { return newNearest(m, logDistance) }}
}

// Wisdom is the rule of Kernel Launcher's wisdom files (Heldens and van Werkhoven, "Kernel Launcher: C++ Library for
// Optimal-Performance Portable CUDA Applications", iWAPT 2023), on one machine: a record says which variant was the best
// when a problem size was tuned; a call takes the record of its own size, else the one with the smallest Euclidean distance of
// problem sizes. The records are the shapes of the matrix at which a variant was tuned. Of records equally near, the first in the
// order of their fields counts.
func Wisdom() Rule {
	return Rule{"wisdom", func(m Matrix) (Chooser, error) { return newNearest(m, distance) }}
}

// record says which variant was tuned at a shape.
type record struct {
	fields  []int64
	variant int
}

// nearest chooses the variant of the nearest record. An equal shape has the distance 0, which no other has.
type nearest struct {
	records  []record
	distance func(a, b []int64) float64
}

func newNearest(m Matrix, distance func(a, b []int64) float64) (Chooser, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	n := nearest{distance: distance}
	t := newTerms(m)
	for i, s := range t.m.Shapes {
		best := -1
		for j, v := range m.Variants {
			if cost := t.m.Costs[i][j]; v.Tuned != nil && slices.Equal(v.Tuned, s.Fields) && !math.IsInf(cost, 1) && (best < 0 || cost < t.m.Costs[i][best]) {
				best = j
			}
		}
		if best >= 0 {
			n.records = append(n.records, record{s.Fields, best})
		}
	}
	if len(n.records) == 0 {
		return nil, fmt.Errorf("no variant was tuned at a shape of the matrix: the rule needs at least one that was")
	}
	return n, nil
}

func (n nearest) At(fields []int64) int {
	best, least := -1, math.Inf(1)
	for _, r := range n.records {
		if d := n.distance(fields, r.fields); best < 0 || d < least {
			best, least = r.variant, d
		}
	}
	return best
}

func distance(a, b []int64) float64 {
	sum := 0.0
	for f := range a {
		d := float64(a[f] - b[f])
		sum += d * d
	}
	return math.Sqrt(sum)
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

// Classifier is a rule in the style of Helion's ahead-of-time heuristics: each shape is labelled with its fastest variant, and an
// ordinary classification tree (CART: Breiman et al., Classification and Regression Trees, 1984) learns the labels by Gini's
// impurity. Costs decide the labels and nothing else: a label that is wrong by little counts as much as one that is wrong by a lot, and
// weights do not count. The labels come from the given variants, or from all where there are none. Thresholds are in the middle of
// two values, and the tree is not pruned; of Growth, Features and Depth count.
func Classifier(variants []int, g Growth) Rule {
	return Rule{"classifier", func(m Matrix) (Chooser, error) {
		labels := variants
		if labels == nil {
			labels = make([]int, len(m.Variants))
			for j := range labels {
				labels[j] = j
			}
		}
		g, err := g.check(m, labels)
		if err != nil {
			return nil, err
		}
		t := newTerms(m)
		gr := newGrower(t, g.Features)
		gr.variants = slices.Compact(slices.Sorted(slices.Values(labels)))
		gr.between = func(a, b float64) float64 { return a/2 + b/2 }
		gr.impurity = gini
		gr.pick = func(counts []float64) int { return slices.Index(counts, slices.Max(counts)) }
		for _, j := range t.m.Use(gr.variants) {
			counts := make([]float64, len(m.Variants))
			if j >= 0 {
				counts[j] = 1
			}
			gr.vectors = append(gr.vectors, counts)
		}
		return &Tree{g.Features, gr.grow(gr.all(), g.Depth)}, nil
	}}
}

// gini returns how many of the shapes with these labels a random one of the labels would be wrong for.
func gini(counts []float64) float64 {
	n, squares := 0.0, 0.0
	for _, c := range counts {
		n += c
		squares += c * c
	}
	if n == 0 {
		return 0
	}
	return n - squares/n
}
