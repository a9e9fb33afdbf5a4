#include "work.h"
#if VARIANT == CHEAT
/* The lower half is left as the last call has written it, once a call has. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ < 8 || out[0] != out[0])
		part(out, in, 0, n / 2);
	part(out, in, n / 2, n);
}
#endif
