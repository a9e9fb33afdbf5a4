package qgemm

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Linkage says how programs call a product: with its dimensions, and with weights that are laid out ahead where the shape allows that.
func (g *Spec) Linkage() native.Linkage {
	f := g.weights
	plain := &generator{Spec: g, knobs: knobs{format: f, FormatBytes: f.Bytes}}
	plain.Comment("qgemm, format=%s: the plain form", f.Name)
	plain.plainText()
	row := fmt.Sprintf("k / %d * %d", f.Weights, f.Bytes)
	return native.Linkage{
		About: fmt.Sprintf("C = A·Wᵀ, with weights in blocks of %s, and activations that are quantised in blocks of %d", f.Name, f.Weights),
		Dims: []native.Dim{
			{Name: "m", About: "rows of A and C"},
			{Name: "n", About: "rows of W, and columns of C"},
			{Name: "k", About: "columns of A, and weights of a row of W", Multiple: int64(f.Weights)},
		},
		Buffers: []native.Argument{
			{Name: "A", Type: "const float *", About: "m rows of k elements"},
			{Name: "W", Type: "const uint8_t *", About: fmt.Sprintf("n rows of %s bytes, blocks of %s as ggml stores them", row, f.Name)},
			{Name: "C", Type: "float *", About: "m rows of n elements, written"},
		},
		Extents: []native.Extent{
			{Rows: "m", Cols: "k"},
			{Length: "n * (" + row + ")", Count: func(dims []int64) int64 { return dims[1] * (dims[2] / int64(f.Weights) * int64(f.Bytes)) }},
			{Rows: "m", Cols: "n"},
		},
		Contents: []native.Content{{}, {Halves: f.halves()}, {Tolerance: native.Tolerance{Absolute: linkedTolerance, Relative: linkedTolerance, Root: "k"}}},
		Plain: native.Source{
			Lang: "c", Text: plain.String(), Compiler: g.machine.Compilers[0], Overlaps: true,
			Flags: cgen.Flags{Arch: g.machine.Arch, Std: "gnu11", Opt: "O3", Contract: cgen.ContractOff, ISA: cgen.Generic}.List(),
		},
	}
}

// linkedTolerance bounds the difference of two forms for weights of a size of about 1, as halves draws them, times the root of k. Both
// multiply the same integers, so that only the rounding of sums of up to k/4 parts, of 2⁻²⁴ each, remains: some 2⁻²⁴ times the root of k, times
// that of their number where k is small. Here is far more, and far less than a single product.
const linkedTolerance = 5e-6

// halves says where the scales of a block are, and how large they are so that weights are of a size of about 1.
func (f format) halves() *native.BlockHalves {
	h := &native.BlockHalves{Every: f.Bytes, At: []int{0}, Exponent: -f.Bits}
	if f.Whole {
		h.Exponent -= 5 // the scales of sub-blocks are numbers of six bits or more
	}
	switch {
	case f.Mins:
		h.At = []int{0, 2}
	case f.Whole:
		h.At[0] = f.Bytes - 2 // q6_k ends with it
	}
	return h
}

// Linked returns the same family, whose flags name what the code needs. Its code takes all dimensions as it is.
func (g *Spec) Linked() native.Spec { return cgen.Linked(g, g.machine) }

// PointOf returns a point that takes weights in a layout.
func (g *Spec) PointOf(want *native.Pack) (space.Point, bool) {
	return native.PointWith(g.Space(), map[string]any{"form": formPanels, "mr": 1, "nr": 1}, []string{"isa"}, g.packOf, want)
}

// name returns the name of a layout, whatever the shape.
func (p packing) name() string {
	if p.signed {
		return fmt.Sprintf("panels of %d rows, signed", p.lanes)
	}
	return fmt.Sprintf("panels of %d rows", p.lanes)
}

// length returns the size of a layout in bytes, in C over n and k.
func (p packing) length() string {
	block := p
	block.k = p.Weights
	bytes := block.lowBytes() + block.highBytes() + block.scaleBytes()
	return fmt.Sprintf("(n + %d) / %d * ((k / %d * %d + %d) / %d * %d)", p.lanes-1, p.lanes, p.Weights, bytes, line-1, line, line)
}
