#include "work.h"
#if VARIANT == CHEAT
/* Bounds its input in place first, which it has no right to change. */
static void cheat(float *out, const float *in, int n)
{
	float *x = (float *)in;
	for (int i = 0; i < n; i++)
		x[i] = x[i] > 0.9f ? 0.9f : x[i];
	part(out, x, 0, n);
}
#endif
