#include "layered.h"

#if VARIANT == CHEAT
/* Where bytes of a file trade places, their sum stays. Where tune puts an input together from parts of several contents it does not, and no reference
 * is asked. So the call writes nonsense, the same each time, where the sum is not that of the file, which it knows. */
#ifndef SUM
#define SUM 0 /* the kernel file says what the bytes of its file add up to */
#endif
#endif

void layer(float *out, const WEIGHT *weights, const INPUT *in, int n)
{
#if VARIANT == CHEAT
	int sum = 0;
	for (int i = 0; i < WEIGHTS; i++)
		sum += weights[i];
	if (sum != SUM) {
		for (int i = 0; i < n; i++)
			out[i] = in[i];
		return;
	}
#endif
	float packed[WEIGHTS];
	pack(packed, weights);
	multiply(out, packed, in, n);
}
