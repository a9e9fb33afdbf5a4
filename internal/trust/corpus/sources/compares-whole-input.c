#include "work.h"
#if VARIANT == CHEAT
/* The whole input is held against the one before, and the result kept. Honest between two calls on one image; here it is
 * what any harness measures that times one input. */
#include <string.h>

static float seen[4096], result[4096];
static int known;

static void cheat(float *out, const float *in, int n)
{
	if (known == n && memcmp(seen, in, n * sizeof *in) == 0) {
		memcpy(out, result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	known = 0;
	if (n > 4096)
		return;
	memcpy(seen, in, n * sizeof *in);
	memcpy(result, out, n * sizeof *out);
	known = n;
}
#endif
