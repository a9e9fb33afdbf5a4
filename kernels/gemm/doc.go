// Package gemm is the kernel gemm-f32: C = A·B, or C = A·Bᵀ with the rows of B contiguous as language models store
// weights, in row-major float32 of any size, as generated C.
//
// A point's first parameter names its form:
//
//   - naive: three loops in any order; the baseline is one of them at -O3 -march=native.
//   - blocked: the same inside square blocks.
//   - tiled: the structure of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", ACM TOMS
//     34(3), 2008) and of BLIS: tiles of MR rows by NV vectors that stay in registers, inside blocks of MC × KC of
//     one operand and KC × NC of the other that stay in caches, each copied ("packed") or not. Of A·Bᵀ a point may
//     compute tiles of the transposed result, which saves the transposition of the large operand.
//   - skinny, where C has at most 32 rows or columns: the large operand is read once and in order, as it lies.
//     Tiles are dot products of several rows, or, for few rows of A·B, sums of several scaled rows of B.
//
// From a point to code: configOf reads the knobs; tiledWriter, skinnyWriter and the plain forms write functions for
// parts of a product; entry writes tune_kernel over them, with the pool of package threads where a point has several. The
// text includes no header unless it needs threads, so that compiling it takes a fraction of a second. Dimensions are
// arguments of the compiled code. The asked shape decides block sizes and which narrow tiles exist for its rest;
// other rests go through tiles of one row and one vector, so that every point is right for every shape, and is
// checked on some (see Spec.Cases).
//
// The vectors are the compiler's own extension, the same for gcc and clang, and a*b+c becomes a fused
// multiply-add where the instruction set has one (-ffp-contract=fast).
package gemm
