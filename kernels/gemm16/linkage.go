package gemm16

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Linkage says how programs call a product: with its dimensions, and with B in the form that the shape names.
func (g *Spec) Linkage() native.Linkage {
	plain := &generator{Spec: g, knobs: knobs{Brain: g.Type == BFloat16, NT: g.nt, Inputs: g.inputs, Weights: g.weights, Unit: unitPlain, Group: g.group}}
	plain.Comment("%s: the plain form", g.name)
	plain.plainText()
	of := func(name, word string) (native.Argument, native.Content) {
		if word == asF32 {
			return native.Argument{Name: name, Type: "const float *"}, native.Content{}
		}
		return native.Argument{Name: name, Type: "const uint16_t *"}, native.Content{Halves: &native.BlockHalves{Every: 2, At: []int{0}, Exponent: -1, Brain: g.Type == BFloat16}}
	}
	a, contentA := of("A", g.inputs)
	b, contentB := of("B", g.weights)
	formula, rows := "A·B", native.Extent{Rows: "k", Cols: "n"}
	if g.nt {
		formula, rows = "A·Bᵀ", native.Extent{Rows: "n", Cols: "k"}
	}
	kind := map[bool]string{true: "bfloat16", false: "half precision"}[g.Type == BFloat16]
	a.About, b.About = "m rows of k elements", fmt.Sprintf("%s rows of %s elements", rows.Rows, rows.Cols)
	return native.Linkage{
		About: fmt.Sprintf("C = %s in %s, with sums in single precision; floats of A and B are rounded first", formula, kind),
		Dims:  []native.Dim{{Name: "m", About: "rows of A and C"}, {Name: "n", About: "columns of C"}, {Name: "k", About: "columns of A"}},
		Buffers: []native.Argument{
			a, b, {Name: "C", Type: "float *", About: "m rows of n elements, written"},
		},
		Extents:  []native.Extent{{Rows: "m", Cols: "k"}, rows, {Rows: "m", Cols: "n"}},
		Contents: []native.Content{contentA, contentB, {Tolerance: native.Tolerance{Absolute: linkedTolerance, Relative: linkedTolerance, Root: "k"}}},
		Plain: native.Source{
			Lang: "c", Text: plain.String(), Compiler: g.machine.Compilers[0], Overlaps: true,
			Flags: cgen.Flags{Arch: g.machine.Arch, Std: "gnu11", Opt: "O3", Contract: cgen.ContractFast, ISA: cgen.Generic}.List(),
		},
	}
}

// linkedTolerance bounds the difference of two forms for elements up to 1, times the root of k. Products are exact in both, so that only the
// rounding of sums remains, of 2⁻²⁴ of each. Here is far more, and far less than a single product.
const linkedTolerance = 2e-5

// Linked returns the same family, whose flags name what the code needs. Its code takes all dimensions as it is.
func (g *Spec) Linked() native.Spec { return cgen.Linked(g, g.machine) }

// PointOf returns a point that takes B in a layout. What a layout depends on, any point may have: the rest is the least.
func (g *Spec) PointOf(want *native.Pack) (space.Point, bool) {
	return native.PointWith(g.Space(), map[string]any{"mr": 1}, []string{"unit", "isa", "nr", "panels"}, g.packOf, want)
}

// name returns the name of a layout, whatever the shape.
func (l layout) name() string {
	return fmt.Sprintf("panels of %d columns, %d at a time, %d elements together, rows by %d", l.columns, l.side, l.group, l.whole)
}

// length returns the size of a layout in bytes, in C over n and k.
func (l layout) length() string {
	rows := fmt.Sprintf("((k + %d) / %d)", l.group-1, l.group)
	if l.whole > 1 {
		rows = fmt.Sprintf("((%s + %d) / %d * %d)", rows, l.whole-1, l.whole, l.whole)
	}
	columns := l.columns * l.side
	return fmt.Sprintf("(n + %d) / %d * %d * %s", columns-1, columns, 2*l.group*columns, rows)
}
