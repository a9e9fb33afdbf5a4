package choice

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Chooser says which variant a call of a shape takes.
type Chooser interface {
	// At returns the index of a variant. The fields are in the order of the matrix that the chooser was made from.
	At(fields []int64) int
}

// Feature is the product of some fields of a shape, as a double. Its factors are multiplied from left to right, each as a double,
// so that C gets the same value as Go: (double)m * (double)n * (double)k.
type Feature struct {
	Factors []int // indices of fields, at least one
}

// Value returns the product.
func (f Feature) Value(fields []int64) float64 {
	v := 1.0
	for _, at := range f.Factors {
		v *= float64(fields[at])
	}
	return v
}

// Name writes the product as m*n.
func (f Feature) Name(fields []string) string {
	names := make([]string, len(f.Factors))
	for i, at := range f.Factors {
		names[i] = fields[at]
	}
	return strings.Join(names, "*")
}

// Features returns each of n fields, the products of two of them, and the product of all.
func Features(n int) []Feature {
	var out []Feature
	var all []int
	for f := range n {
		out = append(out, Feature{[]int{f}})
		all = append(all, f)
	}
	for f := range n {
		for g := f + 1; g < n; g++ {
			out = append(out, Feature{[]int{f, g}})
		}
	}
	if n > 2 {
		out = append(out, Feature{all})
	}
	return out
}

// Node is a question or a leaf. A shape goes to Left where the value of the feature is at most the threshold, else to Right.
type Node struct {
	Variant     int     // of a leaf; at a question, the one that a leaf in its place would have
	Feature     int     // index in Tree.Features
	Threshold   float64 // a whole number
	Left, Right *Node   // nil at a leaf
	// Predictor chooses at a leaf in place of Variant, where it is there.
	Predictor *Predictor
}

// Leaf reports whether the node gives a variant.
func (n *Node) Leaf() bool { return n.Left == nil }

// Tree is a decision tree over the fields of a shape.
type Tree struct {
	Features []Feature
	Root     *Node
}

// At returns the variant of the leaf that the shape comes to, or that its predictor chooses.
func (t *Tree) At(fields []int64) int {
	leaf := t.leaf(fields)
	if leaf.Predictor != nil {
		return leaf.Predictor.At(fields)
	}
	return leaf.Variant
}

func (t *Tree) leaf(fields []int64) *Node {
	n := t.Root
	for !n.Leaf() {
		if t.Features[n.Feature].Value(fields) <= n.Threshold {
			n = n.Left
		} else {
			n = n.Right
		}
	}
	return n
}

// depth returns the most questions from the node to a leaf.
func (n *Node) depth() int {
	if n.Leaf() {
		return 0
	}
	return 1 + max(n.Left.depth(), n.Right.depth())
}

// Walk visits the nodes, each question before its left and its right side.
func (t *Tree) Walk(visit func(n *Node, depth int)) { t.Root.walk(visit, 0) }

func (n *Node) walk(visit func(*Node, int), depth int) {
	visit(n, depth)
	if !n.Leaf() {
		n.Left.walk(visit, depth+1)
		n.Right.walk(visit, depth+1)
	}
}

// Variants returns the variants of the leaves, ascending, each once.
func (t *Tree) Variants() []int {
	var out []int
	t.Walk(func(n *Node, _ int) {
		switch {
		case n.Predictor != nil:
			out = append(out, n.Predictor.Variants()...)
		case n.Leaf():
			out = append(out, n.Variant)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// mostFactors keeps a product of the largest fields far from infinity.
const mostFactors = 16

// Growth says how a tree is made. A field that is zero takes its default.
type Growth struct {
	Features []Feature // what questions are about; all Features of the fields by default
	Depth    int       // the most questions of a call; DefaultDepth
	MinGain  float64   // a question that lowers the weighted mean regret by less is dropped; DefaultMinGain
	Folds    int       // of the cross-validation; DefaultFolds
	Seed     uint64    // of the folds
}

// The defaults of Growth.
const (
	DefaultDepth   = 6
	DefaultMinGain = 0.001
	DefaultFolds   = 10
)

func (g Growth) check(m Matrix, variants []int) (Growth, error) {
	if err := m.Validate(); err != nil {
		return g, err
	}
	if len(variants) == 0 {
		return g, fmt.Errorf("a tree has no variants to choose from: want at least 1")
	}
	for _, j := range variants {
		if j < 0 || j >= len(m.Variants) {
			return g, fmt.Errorf("a tree is to choose variant %d: want indices from 0 to %d", j, len(m.Variants)-1)
		}
	}
	if g.Features == nil {
		g.Features = Features(len(m.Fields))
	}
	for _, f := range g.Features {
		if len(f.Factors) == 0 || len(f.Factors) > mostFactors || slices.Min(f.Factors) < 0 || slices.Max(f.Factors) >= len(m.Fields) {
			return g, fmt.Errorf("a feature has the factors %v: want 1 to %d indices of fields, from 0 to %d", f.Factors, mostFactors, len(m.Fields)-1)
		}
	}
	if g.Depth == 0 {
		g.Depth = DefaultDepth
	}
	if g.MinGain == 0 {
		g.MinGain = DefaultMinGain
	}
	if g.Folds == 0 {
		g.Folds = DefaultFolds
	}
	if g.Depth < 0 || !(g.MinGain >= 0) || math.IsInf(g.MinGain, 1) || g.Folds < 2 {
		return g, fmt.Errorf("a tree of depth %d, least gain %v and %d folds: want a depth of 1 or more, a gain that is not negative, and 2 folds or more", g.Depth, g.MinGain, g.Folds)
	}
	return g, nil
}
