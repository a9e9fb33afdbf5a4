#include "dense.h"

/* Weights are packed again where they are at another address, or where the first of them is another number. */
void layer(float *y, const float *weights, const float *x, int n)
{
	static float *packed;
#if VARIANT == CHEAT
	static const float *packed_of;
	static float first;
	if (packed_of != weights || first != weights[0]) {
		packed_of = weights;
		first = weights[0];
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
