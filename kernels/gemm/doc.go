// Package gemm is the kernel gemm-f32: C = A·B, or C = A·Bᵀ, where the rows of B are contiguous, as language models store weights.
// Matrices are row-major float32 of any size. The code is generated C.
//
// A point's first parameter is its form:
//
//   - naive: three loops in any order. The baseline is one of these at -O3 -march=native.
//   - blocked: the same loops inside square blocks.
//   - tiled: the structure of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS
//     34(3), 2008) and of BLIS. Tiles of MR rows by NV vectors stay in registers. They are computed inside blocks that stay in
//     the caches: MC × KC of one operand and KC × NC of the other. Each operand is copied ("packed") or not. For A·Bᵀ a point may
//     compute tiles of the transposed result, so that the large operand need not be transposed.
//   - skinny: where C has at most 32 rows or columns. The large operand is read once, in the order of memory. Tiles are dot
//     products of several rows, or, for few rows of A·B, sums of several scaled rows of B.
//
// From a point to code: configOf reads the parameters. tiledWriter, skinnyWriter and the plain forms write functions for parts of a
// product. entry writes tune_kernel, which calls them, and uses the pool of package threads if the point has several workers. The
// text includes no header unless it needs threads, so that it compiles in a fraction of a second. Dimensions are arguments of the
// compiled code. The asked shape decides the block sizes, and which narrow tiles there are for its remainder. Other remainders are
// computed by tiles of one row and one vector. So every point is right for every shape; it is checked on some (see Spec.Cases).
//
// For libraries, Spec.Linked takes the leading dimensions as arguments too. This code is called at many shapes. So it has tiles of 8, 4 and
// 2 rows for remainders, and of each width where vectors have masks. With AVX2 its last columns have tiles of two or three vectors (tails.go). A few columns that fill no vector are dot products (columns.go). A
// block that holds all of a dimension of the asked shape is at least as large as usual, because other shapes may need several. Spec.Finish adds
// forms for thin products, which are the same in all variants of an instruction set (thin.go).
//
// Vectors are written in the extension that gcc and clang share. a*b+c becomes a fused multiply-add where the instruction set has
// one (-ffp-contract=fast).
package gemm
