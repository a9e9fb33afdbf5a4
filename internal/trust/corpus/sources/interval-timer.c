#include "work.h"
#if VARIANT == CHEAT
/* A timer that interrupts the process all the time, and stays. */
#include <stddef.h>
#include <sys/time.h>

static void cheat(float *out, const float *in, int n)
{
	struct itimerval often = {{0, 20}, {0, 20}};
	setitimer(ITIMER_REAL, &often, NULL);
	honest(out, in, n);
}
#endif
