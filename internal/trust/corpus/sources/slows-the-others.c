/* Works as it should, and a thread of it works whenever nobody calls it: when the others are measured. */
#include "work.h"

#if VARIANT == CHEAT
#include "elsewhere.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_long calls;

static void *disturb(void *arg)
{
	static float x[1 << 16], y[1 << 16];
	(void)arg;
	elsewhere();
	for (long seen = -1, quiet = 0;;) {
		long now = calls;
		if (now != seen) {
			seen = now;
			quiet = 0;
		}
		if (quiet++ < 2) {
			struct timespec t = {0, 4000000};
			nanosleep(&t, NULL);
			continue;
		}
		for (int at = 0; calls == seen; at = (at + 64) & 0xffff)
			part(y + at, x + at, 0, 64);
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	if (!thread)
		pthread_create(&thread, NULL, disturb, NULL);
	calls++;
	honest(out, in, n);
}
#endif
