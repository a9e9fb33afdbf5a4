// Package qgemm tunes products of activations with quantised weights, as engines of language models compute them: activations A (m × k,
// float32) times weights W (n × k, stored row by row in one of ggml's block formats, see package blocks):
//
//	C = A·Wᵀ
//
// # What is computed
//
// The activations are quantised inside the call, in blocks of 32 where the blocks of the format have 32 weights, and of 256 where they
// have 256:
//
//	amax = the largest |A(i,l)| of the block
//	d    = amax/127, or 0 where that is below the smallest normal number
//	q(l) = rne(A(i,l) · (1/d))        rne rounds to the nearest integer, ties to even; q is 0 where d is 0
//
// each operation rounded to float32 once, so that there is one right q. The sums of products of q and the quants of the weights are
// exact, in 32 bits. Each is of one sub-block, or of a part of one, so that it shares a scale:
//
//	C(i,j) = Σ over sub-blocks  d · ( D·sc · Σ q·Q  −  Min·m · Σ q )
//
// D, sc, Q, Min and m are what blocks.Parts describes. This sum of floats may be taken in any order, of parts of four products or more; it
// may differ from the exact one by [Tolerance] times the sum of the sizes of such parts. A row of A with a NaN or an infinity has only NaN as results.
//
// # What is inside the timed call
//
// With repack=no W arrives in ggml's layout. With repack=yes it may arrive in a layout that the point chooses, as when an engine rearranges
// its weights while loading them: rows interleaved in panels, so that one vector has weights of 16 or 8 rows. The point's code then has one
// more function that does so,
//
//	void tune_pack(uint8_t *packed, const uint8_t *w, int64_t n, int64_t k);
//
// and [PackedBytes] is the size.
//
// With weights=FILE.gguf:TENSOR the weights of the asked shape are those of a model; n, k and format have to be the tensor's.
// A tensor with a block whose scale is infinite or not a number is refused.
//
// # Arguments
//
// args are a (float), w (bytes) and c (float); dims are m, n and k.
package qgemm
