// Package elementwise tunes elementwise work on arrays of float32, and two reductions of it.
//
// # What is computed
//
//	relu      y[i] = a[i] < 0 ? 0 : a[i]
//	mul       y[i] = a[i] · b[i]
//	add       y[i] = a[i] + b[i]
//	sqdiff    y[i] = (a[i] − b[i])²
//	dot       y    = Σ a[i] · b[i]
//	distance  y    = √ Σ (a[i] − b[i])²
//
// for each of a batch of arrays of n elements, which lie one after the other; result k belongs to array k,
// whichever thread computed it. The form of relu is chosen so that NaN stays NaN and −0 stays −0: a NaN that
// an earlier mistake has made is not hidden.
//
// # What a result has to be
//
// The elementwise results are those of IEEE 754 arithmetic to the last bit (any NaN stands for any other). The
// inputs include NaN, infinities and zeros of both signs, and at sizes that are only checked and not timed,
// where a slow path does no harm, subnormal numbers too.
//
// The order of a sum is free. The inputs are uniform in [−1, 1), and a sum S of the terms t may differ from the
// exact one by 4·√n·2⁻²⁴·Σ|t|, a few times what rounding at every step gives by chance; a distance is right
// where it is the correctly rounded root of a sum within that tolerance. Arrays of zeros have to give 0 exactly;
// a NaN or infinity in an array has to show in its result, and in no other.
//
// # The points
//
// Two families write the code. "plain" is the loop that anyone would write, left to the compiler; its default
// point, gcc -O3 -march=native, is the baseline. "vector" is written in the vector extensions of GCC and Clang:
// the vector's width, several vectors in a step, several streams (rows of the array that are walked side by side,
// which keeps more pages of DRAM and more prefetchers busy), non-temporal stores, prefetching. A step of a
// reduction has as many independent sums as it has vectors.
//
// Both run on one thread or on several workers: an array is cut into workers × pieces chunks of equal size, the
// elements that are left over being one more chunk or spread evenly; or whole arrays of the batch are handed out.
// Calls with fewer elements than the threshold stay on one thread, and so does every call of a point
// with one worker.
//
// # The kernel's interface
//
// The buffers are a, b (not for relu) and y; the dimensions are n and the number of arrays. Plain C:
//
//	void tune_kernel(void *const *args, const int64_t *dims);
package elementwise
