#include "work.h"
#if VARIANT == CHEAT
/* The same array has the same result, one would think. */
#include <string.h>

static const float *last;
static float result[4096];

static void cheat(float *out, const float *in, int n)
{
	if (in != last || n > 4096) {
		honest(out, in, n);
		if (n > 4096)
			return;
		memcpy(result, out, n * sizeof *out);
		last = in;
		return;
	}
	memcpy(out, result, n * sizeof *out);
}
#endif
