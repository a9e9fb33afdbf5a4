#include "work.h"
#if VARIANT == CHEAT
/* A loop over blocks of eight, and no loop for what is left. */
static void cheat(float *out, const float *in, int n)
{
	for (int i = 0; i + 8 <= n; i += 8)
		part(out, in, i, i + 8);
}
#endif
