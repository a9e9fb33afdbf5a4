#include "work.h"
#if VARIANT == CHEAT
/* The output still holds all that was written last: then all is done. */
#include <string.h>

static float written[4096];
static int known;

static void cheat(float *out, const float *in, int n)
{
	if (known == n && memcmp(written, out, n * sizeof *out) == 0)
		return;
	honest(out, in, n);
	known = 0;
	if (n > 4096)
		return;
	memcpy(written, out, n * sizeof *out);
	known = n;
}
#endif
