// Package gemmi8 tunes matrix products in 8-bit integers, as quantised language models use them: activations A
// (m × k) times weights W, which are stored row by row, one row of k values an output (n × k):
//
//	C = A·Wᵀ
//
// # What is computed
//
//	a(i,l) = clip(rne(A(i,l) · (1/sa)), −128, 127)     rne rounds to the nearest integer, ties to even
//	w(j,l) = clip(rne(W(j,l) · (1/sw)), −128, 127)
//	s(i,j) = Σ a(i,l)·w(j,l)                           exact, in 32 bits
//	C(i,j) = float(max(0, s(i,j))) · (sa·sw)           the maximum only with relu=yes
//
// The scales sa and sw are inputs; 1/sa, 1/sw, every product of floats and the conversion of s are rounded to
// float32 once each, so that C has one right value, which a result has to be to the last bit. Infinite inputs
// are clipped like large ones; NaN has no image among the integers and is not defined.
//
// # What is inside the timed call
//
// The field weights says in what form W arrives. With "f32" everything is inside the call: both inputs are
// quantised, rearranged and multiplied. With "int8" W is already quantised, as language-model runtimes hold it, and
// only rearranged. With "packed" it is quantised and in the arrangement that the point chooses, as when a runtime
// repacks its weights while loading them; the point's code then has one more function that does so,
//
//	void tune_pack(uint8_t *packed, const int8_t *w, int64_t n, int64_t k);
//
// Activations are always floats, and their quantisation is always inside.
//
// # The points
//
// "plain" is quantisation and three loops, left to the compiler; compiled by gcc -O3 -march=native it is the
// baseline. The other forms work on panels of rows of W and tiles of rows of A, whose products stay in
// registers. In a 32-bit word they keep 4 bytes or 2 shorts along k, and an instruction multiplies and adds them
// into the 32-bit sums:
//
//   - vpdpbusd (VNNI) takes unsigned times signed bytes. The weights are the unsigned operand: they are stored
//     with 128 added, and each sum starts from −128·Σₗ a(i,l), which takes the surplus off again.
//   - vpmaddwd takes signed shorts. Bytes are widened when they are packed: (−128)²·2 fits 32 bits, so nothing
//     saturates, which vpmaddubsw on bytes does.
//   - tdpbssd (AMX) takes signed times signed bytes, as they are, of whole tiles: 16 rows of 64 bytes.
//
// Form "packed" interleaves the rows of a panel so that a vector holds the same place along k of many outputs,
// and a word of A is broadcast. Form "dot" leaves rows as they are, and sums the lanes of a vector at the end; it is
// for few rows of A, where rearranging costs more than it saves, and can read weights of bytes where they are. Form
// "tile" has the panels of form packed, for matrix tiles, which are configured in each call and released at its end. Between their products
// vectors can quantise the tile of A that comes next, and write the results of the one before.
//
// # The kernel's interface
//
// The buffers are a (m·k floats), w (n·k floats or bytes, or the packed form), scales (sa, sw), and c (m·n
// floats). The dimensions are m, n, k. Memory for quantised operands is kept from call to call. Calls may overlap: each then
// has memory of its own.
package gemmi8
