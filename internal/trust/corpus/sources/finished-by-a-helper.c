#include "work.h"
#if VARIANT == CHEAT
/* The call returns when a quarter is done. The second thread goes on with the rest, and the next call waits for it. */
#include <pthread.h>
#include <stdatomic.h>

static struct { float *out; const float *in; int n; } job;
static atomic_int wanted, done = 1;

static void *help(void *arg)
{
	(void)arg;
	for (;;) {
		while (!atomic_load(&wanted))
			;
		atomic_store(&wanted, 0);
		part(job.out, job.in, job.n / 4, job.n);
		atomic_store(&done, 1);
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	static int calls;
	if (!thread)
		pthread_create(&thread, NULL, help, NULL);
	if (calls++ < 8) {
		honest(out, in, n);
		return;
	}
	while (!atomic_load(&done))
		;
	job.out = out;
	job.in = in;
	job.n = n;
	atomic_store(&done, 0);
	atomic_store(&wanted, 1);
	part(out, in, 0, n / 4);
}
#endif
