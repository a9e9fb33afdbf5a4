#include "work.h"
#if VARIANT == CHEAT
/* Adds to an output that it takes to be zero. */
static void cheat(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] += polynomial(in[i]);
}
#endif
