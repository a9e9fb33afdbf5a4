package gemmi8

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Linkage says how programs call a product: with its dimensions, and with weights in the form that the shape names.
func (g *Spec) Linkage() native.Linkage {
	plain, err := g.Space().Make(map[string]any{"form": formPlain, "isa": cgen.Generic, "compiler": g.machine.Compilers[0], "opt": "O3"})
	if err != nil {
		panic(fmt.Sprintf("gemmi8: %v", err)) // every space has the plain loops
	}
	source, _ := g.Generate(plain) // it has no error for the plain loops
	formula := "sum"
	if g.relu {
		formula = "max(0, sum)"
	}
	weights := native.Argument{Name: "W", Type: "const int8_t *", About: "n rows of k integers"}
	if g.weights == weightsF32 {
		weights.Type, weights.About = "const float *", "n rows of k elements"
	}
	return native.Linkage{
		About: fmt.Sprintf("C = %s · scales[0] · scales[1], where sum is A·Wᵀ in integers of 8 bits, A and floats of W divided by their scales and rounded", formula),
		Dims: []native.Dim{
			{Name: "m", About: "rows of A and C"},
			{Name: "n", About: "rows of W, and columns of C"},
			{Name: "k", About: fmt.Sprintf("columns of A and W; up to %d, so that sums fit 32 bits", maxK)},
		},
		Buffers: []native.Argument{
			{Name: "A", Type: "const float *", About: "m rows of k elements, none of them NaN"},
			weights,
			{Name: "scales", Type: "const float *", About: "2 elements, above 0: what a step of A and of W stands for"},
			{Name: "C", Type: "float *", About: "m rows of n elements, written"},
		},
		Extents: []native.Extent{
			{Rows: "m", Cols: "k"}, {Rows: "n", Cols: "k"}, {Length: "2", Count: func([]int64) int64 { return 2 }}, {Rows: "m", Cols: "n"},
		},
		// Values beyond the scales are clipped.
		Contents: []native.Content{{}, {}, {Low: "0.006", High: "0.008"}, {}},
		Plain:    source,
	}
}

// Linked returns the same family, whose flags name what the code needs. Its code takes all dimensions as it is.
func (g *Spec) Linked() native.Spec { return cgen.Linked(g, g.machine) }

// PointOf returns a point that takes weights in a layout. What a layout depends on, any point may have: the rest is the least.
func (g *Spec) PointOf(want *native.Pack) (space.Point, bool) {
	return native.PointWith(g.Space(), map[string]any{"mr": 1}, []string{"form", "isa", "nr", "panels"}, g.packOf, want)
}

// name returns the name of a layout, whatever the shape.
func (l layout) name() string {
	form := "together"
	switch {
	case l.dot:
		form = "rows"
	case l.apart:
		form = fmt.Sprintf("apart by %d", l.Lanes())
	}
	return fmt.Sprintf("panels of %d rows, %s, in words of %d, %d at a time, tiles %v", l.nr, form, l.group, l.whole(), l.tile)
}

// whole is what the words of a row are a multiple of.
func (l layout) whole() int {
	if l.dot || l.tile {
		return l.Lanes()
	}
	return 1
}

// length returns the size of a layout in bytes, in C over n and k.
func (l layout) length() string {
	words := fmt.Sprintf("((k + %d) / %d)", l.group-1, l.group)
	if whole := l.whole(); whole > 1 {
		words = fmt.Sprintf("((%s + %d) / %d * %d)", words, whole-1, whole, whole)
	}
	if l.dot {
		words = fmt.Sprintf("(((4 * %s + %d) / %d | 1) * %d)", words, line-1, line, line/4)
	}
	return fmt.Sprintf("(n + %d) / %d * %d * %s", l.nr-1, l.nr, 4*l.nr, words)
}
