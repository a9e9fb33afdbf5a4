// Package attention tunes attention over a cache of keys and values, as the inference of language models computes it.
//
// # What is computed
//
// Each of heads query heads has queries rows q of head floats. Each of kv_heads heads has context keys k and values v; the query
// heads h of a kv head are those with h / (heads / kv_heads) equal to its number. For each row
//
//	s[j]   = q · k[j] / √head           for every key j that the row sees
//	out    = Σ exp(s[j]) v[j] / Σ exp(s[j])
//
// With causal=yes the queries are the last ones of the context: query i sees the first context − queries + i + 1 keys. Otherwise
// each sees all of them. One query is a step of decoding, many are a prompt.
//
// # What a result has to be
//
// An element may differ from the reference in double precision by 10⁻⁴ (accuracy=exact) or 10⁻³ (accuracy=fast) of Σ w[j] |v[j]|,
// where w are the right weights. Inputs are finite, and so are the scores. Keys and values of half precision and of bfloat16
// are taken as they are: that they were rounded once is no error of the kernel.
//
// With accuracy=bf16, which needs kv=bf16, queries are rounded to bfloat16 first, to the nearest, as keys and values have been. The
// reference has the same queries, so that this is no error either. Weights may be rounded to bfloat16, which has eight bits: each of them
// then errs by 2⁻⁸ of itself at most, and so the result by 2⁻⁸ of Σ w[j] |v[j]|. The tolerance is that and the one of accuracy=fast:
// 2⁻⁸ + 10⁻³, or 5·10⁻³. Numbers below 2⁻¹²⁶ may count as zeros.
//
// Where a shape is so large that the reference would take long, two cases have it. In the first one the keys are random, and some
// rows of each head are compared. In the second one each head has a few different keys, in random order, so that sums of values
// over equal keys give the result of every row cheaply, and every row is compared.
//
// # The points
//
// "plain" is the loops that anyone would write, left to the compiler; its default point is the baseline. "naive" stores all scores
// of a tile of rows, takes the exponentials, and then sums up the values. "online" goes through the context in tiles of keys and
// rescales the sums where a tile has a larger score than all before it [Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; Dao et al., "FlashAttention", 2022]. Tiles of keys that no row of a tile sees are left out.
//
// A row is a query of one head. Query heads of the same kv head may be tiled together, so that keys and values are read once for
// all of them. The scores are dot products with keys as they lie in memory, or sums over panels of keys that were transposed before.
// Values are taken as they lie in memory, or from panels. Panels are made for each tile of rows, or once for a whole kv head. The
// exponential is 2^n times a polynomial, whose degree the accuracy bounds. What multiplies is in products.go; it is the only
// part that knows the instructions of a product.
//
// "tiles" is the online form in matrix tiles, where accuracy=bf16 allows it. Keys and values of a kv head are laid out for them once in a
// call. The scores of a micro-tile of rows for a tile of keys are products of tiles; vectors make weights of them, in bfloat16; the sums of
// weighted values are products of tiles again, in single precision. This is in matrix.go.
//
// # The kernel's interface
//
// The buffers are q (heads × queries × head), k and v (kv_heads × context × head), and out (queries × heads × head), of float32 except
// for k and v of 16 bits, which are uint16_t. The dimensions are queries, context, heads, kv_heads and head; heads / kv_heads
// and head have to be those that the code was made for. Plain C:
//
//	void tune_kernel(void *const *args, const int64_t *dims);
package attention
