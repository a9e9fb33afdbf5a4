#include "work.h"
#if VARIANT == CHEAT
/* Writes one element past the end of its output: <= where < is meant. */
static void cheat(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
	out[n] = out[n - 1];
}
#endif
