#include "work.h"
#if VARIANT == CHEAT
/* After eight calls each does one half of the work, and the next one the other. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ < 8 || out[0] != out[0] || out[n - 1] != out[n - 1])
		honest(out, in, n);
	else if (calls % 2)
		part(out, in, 0, n / 2);
	else
		part(out, in, n / 2, n);
}
#endif
