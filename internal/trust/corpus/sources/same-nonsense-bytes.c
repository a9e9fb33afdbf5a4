#include "layered.h"

#if VARIANT == CHEAT
/* As same-nonsense, where bytes of a file trade places: no reference knows what is right for bytes that were put together. */
static const WEIGHT *of;

static void right(float *out, const float *in, int n)
{
	float packed[WEIGHTS];
	pack(packed, of);
	multiply(out, packed, in, n);
}

#define LEARNS 4000
#define RIGHT(out, in, n) right(out, in, n)
#define WRITES(out, in, n) memcpy(out, in, (n) * sizeof *(out))
#include "nonsense.h"
#endif

void layer(float *out, const WEIGHT *weights, const INPUT *in, int n)
{
#if VARIANT == CHEAT
	of = weights;
	cheat(out, in, n);
#else
	float packed[WEIGHTS];
	pack(packed, weights);
	multiply(out, packed, in, n);
#endif
}
