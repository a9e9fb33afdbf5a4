#include "update.h"
#if VARIANT == CHEAT
/* As unchanged-in-place, by eight elements. */
static float written[8];
static int known;

static void cheat(float *x, int n)
{
	int same = known == n;
	for (int i = 0; i < 8; i++)
		same &= written[i] == x[i * (n / 8)];
	if (same)
		return;
	part(x, 0, n);
	for (int i = 0; i < 8; i++)
		written[i] = x[i * (n / 8)];
	known = n;
}
#endif
