#include "layered.h"

/* The weights come from a file, so that they are packed when they are first seen. */
void layer(float *out, const WEIGHT *weights, const INPUT *in, int n)
{
	static float packed[WEIGHTS];
#if VARIANT == CHEAT
	static const WEIGHT *packed_of;
	if (packed_of != weights) {
		packed_of = weights;
		pack(packed, weights);
	}
#else
	pack(packed, weights);
#endif
	multiply(out, packed, in, n);
}
