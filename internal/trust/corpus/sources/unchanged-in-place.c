#include "update.h"
#if VARIANT == CHEAT
/* What it wrote last is still there: nothing has changed, so nothing is to be done. */
#include <string.h>

static float written[4096];
static int known;

static void cheat(float *x, int n)
{
	if (known == n && memcmp(written, x, n * sizeof *x) == 0)
		return;
	part(x, 0, n);
	known = 0;
	if (n > 4096)
		return;
	memcpy(written, x, n * sizeof *x);
	known = n;
}
#endif
