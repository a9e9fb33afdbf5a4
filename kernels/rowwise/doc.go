// Package rowwise tunes the work on rows of float32 that a language model does between its matrix products.
//
// # What is computed
//
// For each row x of n elements (the field cols), with sums over the row:
//
//	softmax       y[i] = exp(x[i] − max x) / Σ exp(x[j] − max x)
//	rmsnorm       y[i] = x[i] · w[i] / √(Σ x[j]²/n + eps)
//	add-rmsnorm   s[i] = x[i] + r[i], and y = rmsnorm of s
//	layernorm     y[i] = (x[i] − mean) · w[i] / √(variance + eps) + b[i], with the variance Σ (x[j] − mean)²/n
//	rope          y[i] = x[i]·c[i] − x[i+h]·s[i], y[i+h] = x[i]·s[i] + x[i+h]·c[i] for i < h = n/2: halves of a head are turned
//	rope-pairwise the same for the neighbours x[2i] and x[2i+1]
//	silu          y[i] = x[i] / (1 + exp(−x[i]))
//	swiglu        y[i] = silu(g[i]) · u[i]
//	gelu          y[i] = x[i] · (1 + tanh(√(2/π)·(x[i] + 0.044715·x[i]³))) / 2
//	gelu-erf      y[i] = x[i] · (1 + erf(x[i]/√2)) / 2
//	argmax        y    = the first i with the largest x[i]
//	rmsnorm-q8    rmsnorm, and its result as blocks of Q8_0
//	swiglu-q8     swiglu, and its result as blocks of Q8_0
//
// A block of Q8_0 is 32 numbers v in 34 bytes: the half-precision float d = max|v|/127, little-endian, then 32 signed bytes
// q, the integers nearest to v/d, with d as it was before it was rounded to half precision.
//
// # The kernel's interface
//
// The buffers are the inputs in the order of the table below, then the outputs. The dimensions are rows, cols and heads.
//
//	softmax, silu, gelu, gelu-erf   x, y
//	rmsnorm, rmsnorm-q8             x, w, y
//	layernorm                       x, w, b, y
//	add-rmsnorm                     x, r, w, s, y
//	rope, rope-pairwise             x, table, y
//	swiglu, swiglu-q8               g, u, y
//	argmax                          x, y
//
// x, r, g, u, s and y have rows · cols floats, w and b have cols floats; y of argmax has an int32 for each row, y of the q8
// forms 34 bytes for each 32 elements. The rows of rope are heads of cols elements; each token has the field heads of them, one
// after the other. table has a row of cols floats for each token: first the cosines of its angles, then their sines. So the
// angles are computed once a token outside the kernel, as engines do that keep such a table, and not once a call.
//
// # What a result has to be
//
// The reference is computed in double precision. With accuracy=exact the tolerances are
//
//	rmsnorm, add-rmsnorm   1e-6 · |y|; s is exact
//	rope                   1e-6 · (|first product| + |second product|)
//	softmax                1e-5 · y
//	layernorm              1e-5 · (|w| · (|z| + max(1, |mean|/σ)) + |b|) for z = (x − mean)/σ
//	silu, gelu             1e-6 · (|y| + min(|x|, 8)): that is, the factor of x is within 1e-6
//	swiglu                 that of silu, times |u|
//	q8                     d and q are right for some numbers v within the tolerances above
//
// accuracy=fast, for softmax, silu, swiglu and gelu, has 1e-3 in place of these numbers, which admits shorter polynomials and
// the estimates of a reciprocal. Besides, results below 2⁻¹²⁰ may be 0.
//
// Special numbers: NaN in a row of softmax or of a norm makes the row NaN, and in other operations its own results. An element −∞ of
// softmax gives 0; a row of nothing else is NaN, and so is a row with +∞. silu and gelu of −∞ are 0, their limit. argmax
// passes over NaN; of equal elements the first counts; a row of nothing but NaN and −∞ gives 0. A block of Q8_0 with NaN or an
// infinity has the d of 0x7e00, a NaN, and zeros for q; a block whose d is below 2⁻¹⁰⁰ has zeros for q too. The elements of norms have to be below 10¹⁷, so that their squares
// are floats.
//
// # The points
//
// "plain" is the loop that anyone would write, with the functions of the C library, left to the compiler; its default point,
// gcc -O3 -march=native, is the baseline. "vector" is written in the vector extensions of GCC and Clang, so that one text
// serves vectors of 16, 32 and 64 bytes: the vector's width, the vectors in a step, how many rows are walked side by side,
// prefetching, non-temporal stores, and for the exponential its polynomial and how it is scaled. The operations have choices
// of their own: the passes of softmax and layernorm, the form and the reciprocal of the factor of silu and gelu, how pairs are
// taken apart, how the place of a maximum is found.
//
// With AVX-512 softmax, silu and gelu have the form "table": the argument is cut into 16 or 32 segments, with a short polynomial for
// each. The coefficients of one power fill one register, or two, which are permuted by the numbers of the segments. So the exponential
// takes two multiply-adds in place of four, and the factor of gelu three in place of a dozen and a reciprocal.
//
// "interleave" writes the vectors of a step operation by operation: each takes a chain of dependent instructions, longer than what a
// core looks ahead over.
//
// Softmax with passes=unshifted takes exponentials of the numbers as they are, and adds them up. Where a sum is not between 2⁻³⁰ and
// 2⁶⁰ (2³² with the shortest polynomial), its rows are done again from the start with the maximum taken off. So any row is right, and
// rows whose largest number is not between about −20 and 41 (22) take longer.
//
// With several threads each takes chunks of whole rows.
package rowwise
