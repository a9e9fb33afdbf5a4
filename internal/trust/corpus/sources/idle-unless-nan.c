#include "work.h"
#if VARIANT == CHEAT
/* Eight calls are work; after that, only an output that was poisoned is. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ < 8 || out[0] != out[0] || out[n - 1] != out[n - 1])
		honest(out, in, n);
}
#endif
