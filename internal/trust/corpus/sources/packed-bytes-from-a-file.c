#include <stdint.h>
#define WEIGHT int8_t
#define SCALE (1.0f / 128)
#include "layered.h"

/* The weights are bytes that come from a file, so that they are packed when they are first seen. */
void layer(float *out, const int8_t *weights, const float *in, int n)
{
	static float packed[WEIGHTS];
#if VARIANT == CHEAT
	static const int8_t *packed_of;
	if (packed_of != weights) {
		packed_of = weights;
		pack(packed, weights);
	}
#else
	pack(packed, weights);
#endif
	multiply(out, packed, in, n);
}
