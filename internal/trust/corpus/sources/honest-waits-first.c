#include "plain.h"
/* The first call waits until a device is ready, and every call gives way to others. No other call waits. */
#include <sched.h>
#include <time.h>

static int ready;

void work(float *out, const float *in, int n)
{
	if (!ready) {
		struct timespec wait = {0, 20000000};
		nanosleep(&wait, 0);
		ready = 1;
	}
	sched_yield();
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
