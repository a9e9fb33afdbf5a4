#include <stdint.h>
#define WEIGHT int16_t
#define SCALE (1.0f / 128)
#define INPUT int16_t
#include "layered.h"

/* The weights are whole numbers that come from a file, so that they are packed when they are first seen. */
void layer(float *out, const int16_t *weights, const int16_t *in, int n)
{
	static float packed[WEIGHTS];
#if VARIANT == CHEAT
	static const int16_t *packed_of;
	if (packed_of != weights) {
		packed_of = weights;
		pack(packed, weights);
	}
#else
	pack(packed, weights);
#endif
	multiply(out, packed, in, n);
}
