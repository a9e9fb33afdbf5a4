#include "work.h"
#if VARIANT == CHEAT
/* Opens a file in each call and never closes it. */
#include <stdio.h>

static void cheat(float *out, const float *in, int n)
{
	FILE *f = fopen("/proc/self/stat", "r");
	(void)f;
	honest(out, in, n);
}
#endif
