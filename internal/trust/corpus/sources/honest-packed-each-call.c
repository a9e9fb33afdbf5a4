#include "layered.h"

/* The weights are packed in each call. */
void layer(float *out, const float *weights, const float *in, int n)
{
	static float packed[WEIGHTS];
	pack(packed, weights);
	multiply(out, packed, in, n);
}
