// Package gemm16 tunes products of matrices of 16-bit floats with sums in single precision, as engines of language models compute them
// where they keep weights in 16 bits:
//
//	C = A·B  (layout=nn, B is k × n)    C = A·Bᵀ  (layout=nt, B is n × k)
//
// A is m × k; all matrices are stored row by row. There are two kernels: gemm-bf16 for bfloat16 (8 bits of precision) and gemm-f16 for half
// precision (11 bits).
//
// # What is computed
//
// Elements that arrive as float32 are rounded to 16 bits inside the call, to the nearest, ties to even. The products of the rounded elements
// are exact in single precision. They are added up in any order. A result may differ from the exact sum by
//
//	2⁻²⁴ · (8·√k + 64) · Σ |a·b|
//
// which bounds sums of k terms that are rounded one after the other, with a probability so close to one that no other sum is ever seen
// [Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019]. The instructions for bfloat16
// take numbers below 2⁻¹²⁶ for zero, so that products with such numbers may be missing too. Infinities and NaN are as IEEE 754 has them.
//
// There is no form with arithmetic in half precision: each of its additions has an error of up to 2⁻¹¹ of the sum, thousands of times what
// sums in single precision have.
//
// # What is inside the timed call
//
// inputs=half has A in 16 bits already, and inputs=f32 as float32. weights=half and weights=f32 do the same for B. With weights=packed B may
// arrive in a layout that the point chooses, as when an engine rearranges its weights while loading them. The point's code then has one more
// function that does so, from 16 bits in the layout that the shape names:
//
//	void tune_pack(uint8_t *packed, const uint16_t *b, int64_t n, int64_t k);
//
// [PackedBytes] is the size of the largest layout.
//
// # Units
//
// A point multiplies by one of these units of the processor: multiply-adds of single precision on widened elements, the dot product of pairs
// of bfloat16 (AVX-512 BF16), or matrix tiles (AMX). Tiles are configured in each call, and released at its end. Between their products vectors
// can prepare the tile of A that comes next, and write the results of the one before.
//
// # Arguments
//
// args are a (float or bits of 16), b (float, bits of 16, or bytes) and c (float); dims are m, n and k.
package gemm16
