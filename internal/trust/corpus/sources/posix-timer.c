#include "work.h"
#if VARIANT == CHEAT
/* As interval-timer, by timer_create, with a signal that nobody catches. */
#include <signal.h>
#include <time.h>

static void cheat(float *out, const float *in, int n)
{
	static timer_t timer;
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec in_a_while = {.it_value = {.tv_nsec = 400000000}};
	if (!timer && timer_create(CLOCK_MONOTONIC, &e, &timer) == 0)
		timer_settime(timer, 0, &in_a_while, NULL);
	honest(out, in, n);
}
#endif
