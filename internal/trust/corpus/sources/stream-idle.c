#include "stream.h"
#if VARIANT == CHEAT
/* After eight calls there is work only where the output is NaN at one of its ends. */
static int calls;

static void cheat(float *out, const float *a, const float *b, long n)
{
	if (calls++ < 8 || out[0] != out[0] || out[n - 1] != out[n - 1])
		part(out, a, b, 0, n);
}
#endif
