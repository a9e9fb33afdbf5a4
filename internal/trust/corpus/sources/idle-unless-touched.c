#include "work.h"
#if VARIANT == CHEAT
/* As idle-unless-nan, for a poison of any kind: an output that is not what this function would have left there. It looks at
 * another element in each call. */
static unsigned calls;

static void cheat(float *out, const float *in, int n)
{
	int i = (int)(calls * 2654435761u % (unsigned)n);
	if (calls++ < 8 || out[i] != polynomial(in[i]))
		honest(out, in, n);
}
#endif
