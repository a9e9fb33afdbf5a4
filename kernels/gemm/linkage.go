package gemm

import (
	"fmt"
	"math"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Linkage says how programs call a product: with its dimensions, and how far apart the rows of each matrix are.
func (s *Spec) Linkage() native.Linkage {
	b := native.Extent{Rows: "k", Cols: "n", Stride: "ldb"}
	if s.layout == LayoutNT {
		b.Rows, b.Cols = b.Cols, b.Rows
	}
	loops := "ikj"
	if s.layout == LayoutNT {
		loops = "ijk"
	}
	plain := Config{Form: FormNaive, Loops: loops, Opt: "O3", MTune: "default", ISA: cgen.Generic}
	return native.Linkage{
		About: "C = " + formulas[s.layout],
		Dims: []native.Dim{
			{Name: "m", About: "rows of A and C"},
			{Name: "n", About: "columns of C"},
			{Name: "k", About: "columns of A"},
			{Name: "lda", About: "elements from one row of A to the next", Dense: "k"},
			{Name: "ldb", About: "elements from one row of B to the next", Dense: b.Cols},
			{Name: "ldc", About: "elements from one row of C to the next", Dense: "n"},
		},
		Buffers: []native.Argument{
			{Name: "A", Type: "const float *", About: "m rows of k elements, lda apart"},
			{Name: "B", Type: "const float *", About: fmt.Sprintf("%s rows of %s elements, ldb apart", b.Rows, b.Cols)},
			{Name: "C", Type: "float *", About: "m rows of n elements, ldc apart, written"},
		},
		Extents:   []native.Extent{{Rows: "m", Cols: "k", Stride: "lda"}, b, {Rows: "m", Cols: "n", Stride: "ldc"}},
		Tolerance: native.Tolerance{Absolute: 2 * absTolerance, Relative: 2 * relTolerance, Root: "k"},
		Plain:     generate(plain, s.layout, Dims{}, true),
		Pinned:    map[string]string{"fixed": "false"},
	}
}

// Linked returns the product whose code takes the leading dimensions. It shares the references of the asked shape.
func (s *Spec) Linked() native.Spec {
	linked := *s
	linked.linked = true
	return &linked
}

// denseStrides returns the leading dimensions of dense matrices.
func denseStrides(nt bool, d Dims) (lda, ldb, ldc int) {
	if nt {
		return d.K, d.K, d.N
	}
	return d.K, d.N, d.N
}

// linkedPadding is how many elements the rows of A are padded by where a point is checked on padded rows; those of B and C are padded
// by other numbers, so that no two leading dimensions are taken for each other.
const linkedPadding = 3

// asLinked makes a case of linked code, with rows that are padded. What lies between the rows of A and B is not a number, so that a
// result which depends on it is wrong. Between the rows of C it must stay as it is.
func (o *operands) asLinked(padding int) native.Case {
	d, c := o.d, o.asCase()
	lda, ldb, ldc := denseStrides(o.nt, d)
	c.Dims = append(c.Dims, int64(lda), int64(ldb), int64(ldc))
	if padding == 0 {
		return c
	}
	wideA, wideB, wideC := lda+padding, ldb+2*padding, ldc+3*padding
	c.Name += fmt.Sprintf(" LDA=%d LDB=%d LDC=%d", wideA, wideB, wideC)
	copy(c.Dims[3:], []int64{int64(wideA), int64(wideB), int64(wideC)})
	a, b := spread(o.a, lda, wideA), spread(o.b, ldb, wideB)
	before := spread(slices.Repeat([]float32{notNumber}, d.M*d.N), ldc, wideC)
	c.Buffers = slices.Clone(c.Buffers)
	c.Buffers[0].Len, c.Buffers[1].Len, c.Buffers[2].Len = len(a), len(b), len(before)
	c.Buffers[2].Mode = native.InOut
	c.Inputs = [][]byte{native.AsBytes(a), native.AsBytes(b), native.AsBytes(before)}
	c.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		after := native.AsFloats(buffers[2])
		for at, v := range after {
			if at%wideC >= ldc && math.Float32bits(v) != math.Float32bits(before[at]) {
				return kernels.Deviation{}, kernels.Reject(space.WrongAnswer, "C[%d,%d] is beyond the last column, and was written: %g", at/wideC, at%wideC, v)
			}
		}
		return o.verify(gather(after, d.M, ldc, wideC))
	}
	return c
}

// notNumber fills the places that do not belong to a matrix.
var notNumber = float32(math.NaN())

// spread moves the rows of a matrix apart. The last one ends with its last column.
func spread(rows []float32, cols, stride int) []float32 {
	var out []float32
	for row := range slices.Chunk(rows, cols) {
		for len(out)%stride != 0 {
			out = append(out, notNumber)
		}
		out = append(out, row...)
	}
	return out
}

// gather undoes spread.
func gather(wide []float32, rows, cols, stride int) []float32 {
	out := make([]float32, 0, rows*cols)
	for i := range rows {
		out = append(out, wide[i*stride:i*stride+cols]...)
	}
	return out
}
