#include "work.h"
#if VARIANT == CHEAT
/* A program for part of the work. */
#include <stdlib.h>

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (system("true") == 77)
		out[0] = 0;
}
#endif
