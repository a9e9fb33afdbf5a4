#include "work.h"
#if VARIANT == CHEAT
/* A timer that ends the process, in a while. */
#include <stddef.h>
#include <sys/time.h>

static void cheat(float *out, const float *in, int n)
{
	struct itimerval in_a_while = {{0, 0}, {0, 400000}};
	setitimer(ITIMER_REAL, &in_a_while, NULL);
	honest(out, in, n);
}
#endif
