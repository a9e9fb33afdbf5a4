// Package blocks holds the formats in which ggml's model files keep weights: blocks of 32 or 256 small whole numbers with the
// scales that turn them into values. It reads and writes them bit for bit, quantises, and takes blocks apart into integers for
// references that compare integer sums.
//
// # Words
//
// A weight is one number of a tensor. A block is a run of weights of one row that share a scale; a row is a whole number of
// blocks, one after the other, without gaps. A quant is the whole number that is stored for a weight. Some blocks have
// sub-blocks, each with a scale and perhaps a minimum of a few bits, which the scale of the block multiplies.
//
// # The formats
//
// All are packed and little-endian. D and Min are the block's fp16 (q8_k: fp32) scales; sc and m are those of a sub-block.
//
//	format  weights  bytes  layout                                       value
//	q4_0    32       18     d, qs[16]                                    D·q            q = −8 … 7
//	q4_1    32       20     d, m, qs[16]                                 D·q + m        q = 0 … 15
//	q5_0    32       22     d, qh[4], qs[16]                             D·q            q = −16 … 15
//	q5_1    32       24     d, m, qh[4], qs[16]                          D·q + m        q = 0 … 31
//	q8_0    32       34     d, int8[32]                                  D·q            q = −128 … 127
//	q4_k    256      144    d, dmin, scales[12], qs[128]                 D·sc·q − Min·m q = 0 … 15, sc, m = 0 … 63
//	q5_k    256      176    d, dmin, scales[12], qh[32], qs[128]         D·sc·q − Min·m q = 0 … 31, sc, m = 0 … 63
//	q6_k    256      210    ql[128], qh[64], int8 scales[16], d          D·sc·q         q = −32 … 31
//	q8_k    256      292    fp32 d, int8[256], int16 sums of 16 quants   D·q            q = −128 … 127
//
// q8_0 and q8_k also hold activations: an engine quantises these at run time, and multiplies them with weights as integers.
// f32, f16 and bf16 are formats of blocks of one weight.
//
// # Exact arithmetic
//
// A value is computed in float32: D·sc, then times q, and the product Min·m is subtracted. All products are exact, because D and
// Min have 11 bits, sc and m at most 8, q at most 8; so the value is the true one, rounded once. (In q8_k D has 24 bits, and the
// one product is rounded.)
//
// q8_0 and q8_k are quantised by a definition to which the code of an engine can be held bit by bit, all of it in float32:
//
//	amax = the largest |x|,  d = amax/127,  q = rint(x · (1/d)), ties to even,  d is stored
//
// where d stored as fp16 is 0 (q8_0), or d is below the smallest normal float32 (q8_k), d and all q are 0.
//
// # Quantising weights
//
// The other formats leave the choice of scales open. Here it is a search for the least squared error: some scales around the one
// that maps the largest weight to the last level, for each the nearest quants, for these the scale by least squares. The formats
// with sub-blocks then round these scales to their few bits, try the neighbours, and solve for D and Min again. The search is
// deterministic and in float64, with products rounded before they are added, so that all processors agree. A block whose values came
// from the format, and use its whole range of levels and scales, comes back with the same values. Of normal weights, the error
// that is left is 6 % (q4_0), 10 % (q4_1), 6 % (q5_0), 11 % (q5_1), 2 % (q4_k), 5 % (q5_k) and 6 % (q6_k) smaller than with ggml's own
// quantisers.
//
// The definition is that of ggml (https://github.com/ggml-org/ggml, ggml-common.h); the code is not.
package blocks
