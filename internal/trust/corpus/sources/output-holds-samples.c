#include "work.h"
#if VARIANT == CHEAT
/* The output still holds, at a few places, what was written last: then all is done. */
static float written[8];
static int known;

static void cheat(float *out, const float *in, int n)
{
	int same = known == n;
	for (int i = 0; i < 8; i++)
		same &= written[i] == out[i * (n / 8)];
	if (same)
		return;
	honest(out, in, n);
	for (int i = 0; i < 8; i++)
		written[i] = out[i * (n / 8)];
	known = n;
}
#endif
