#include "dense.h"

/* Weights stay the same from one call to the next, so that they are packed when they are first seen. */
void layer(float *y, const float *weights, const float *x, int n)
{
	static float *packed;
#if VARIANT == CHEAT
	static const float *packed_of;
	if (packed_of != weights) {
		packed_of = weights;
		packed = realloc(packed, sizeof *packed * n * n);
		pack(packed, weights, n);
	}
#else
	if (packed == NULL)
		packed = malloc(sizeof *packed * n * n);
	pack(packed, weights, n);
#endif
	multiply(y, packed, x, n);
}
