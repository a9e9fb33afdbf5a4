package peers

import (
	"path/filepath"
	"slices"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// The types of elements of a Product.
const (
	ElemF32  = "f32"
	ElemBF16 = "bf16"
	ElemS8   = "s8"
	ElemU8   = "u8"
	ElemS32  = "s32"
)

// Product is a product of matrices by the matmul primitive of oneDNN: C = A·W, whose dimensions are m, n and k. Its arguments are A
// (m·k), W and C (m·n).
type Product struct {
	A, W, C    string // types: f32·f32→f32, bf16·bf16→f32, s8·s8→s32, u8·s8→s32
	Transposed bool   // W is stored n by k, otherwise k by n
	Packed     bool   // W is in the layout that oneDNN asks for, as Packer makes it
	// RoundA and RoundW say that an argument of bf16 arrives as float32, and is rounded in the call.
	RoundA, RoundW bool
}

// Unfit says why oneDNN cannot compute a product with some instruction sets, as the end of a sentence; "" where it can.
func (p Product) Unfit(isas []string) string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(isas, name) })
	}
	switch {
	case p.A == ElemBF16 && !has(cgen.AVX512):
		return "multiplies bfloat16 only where the processor has AVX-512: run on such a machine"
	case (p.A == ElemS8 || p.A == ElemU8) && !has(cgen.AVX512VNNI, cgen.AVXVNNI):
		return "adds up products of integers in 16 bits where the processor has no VNNI, so that large ones are wrong: run on a machine with VNNI"
	}
	return ""
}

// Quantised is a Product of the integers that floats are quantised to, as package gemmi8 defines it. Its arguments are A (floats), W
// (n·k integers, or floats that are quantised as well), the two scales, and C (floats).
type Quantised struct {
	Packed bool // W is in the layout that oneDNN asks for, as Packer makes it of integers
	Floats bool // W has floats
	Relu   bool // negative results become 0
}

// Unfit says why oneDNN cannot compute it with some instruction sets, as that of Product does.
func (q Quantised) Unfit(isas []string) string { return q.product().Unfit(isas) }

func (q Quantised) product() Product {
	return Product{A: ElemS8, W: ElemS8, C: ElemS32, Transposed: true, Packed: q.Packed}
}

// nameDNNL is what users call oneDNN.
const nameDNNL = "dnnl"

// HasMatmul reports whether a library is oneDNN of the version whose matmul primitive tune can call: 2.
func (p Library) HasMatmul() bool {
	path, err := filepath.EvalSymlinks(p.Path)
	return p.Name == nameDNNL && err == nil && strings.Contains(filepath.Base(path), ".so.2")
}

// matmulCall is what the templates are given.
type matmulCall struct {
	library
	Product
	Path                    string
	Threads                 int
	Quantised, Floats, Relu bool
}

func (p Library) matmul(piece string, c matmulCall) native.Source {
	c.library, c.Path = p.library(), p.Path
	var w cgen.Writer
	w.Piece(pieces, piece, c)
	return native.Source{
		Lang: "c", Text: w.String(), Threads: c.Threads,
		Flags: []string{"-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math"},
	}
}

// Matmul returns the candidate that computes a product.
func (p Library) Matmul(product Product, threads int) native.Source {
	return p.matmul("matmul_call", matmulCall{Product: product, Threads: threads})
}

// MatmulPacker returns what lays out the weights of a product.
func (p Library) MatmulPacker(host *native.Host, product Product) Packer {
	product.Packed = true
	return packBy(host, p.matmul("matmul_pack", matmulCall{Product: product, Threads: 1}), "oneDNN has no layout for these weights")
}

// Quantised returns the candidate that quantises and computes a product.
func (p Library) Quantised(q Quantised, threads int) native.Source {
	return p.matmul("matmul_call", matmulCall{Product: q.product(), Threads: threads, Quantised: true, Floats: q.Floats, Relu: q.Relu})
}

// QuantisedPacker returns what lays out the weights of a quantised product.
func (p Library) QuantisedPacker(host *native.Host, q Quantised) Packer {
	q.Packed = true
	return packBy(host, p.matmul("matmul_pack", matmulCall{Product: q.product(), Threads: 1}), "oneDNN has no layout for these weights")
}
