#include "work.h"
#if VARIANT == CHEAT
/* Its loop counts down by one too many. */
static void cheat(float *out, const float *in, int n)
{
	for (int i = n - 1; i >= -1; i--)
		out[i] = polynomial(in[i < 0 ? 0 : i]);
}
#endif
