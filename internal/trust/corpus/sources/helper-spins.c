#include "work.h"
#if VARIANT == CHEAT
/* A thread that stays and looks out for work does 45 % of it. */
#include "elsewhere.h"
#include <pthread.h>

static struct { float *out; const float *in; int n; } job;
static volatile int wanted, done;

static void *help(void *arg)
{
	(void)arg;
	elsewhere();
	for (int seen = 0;;) {
		for (long i = 0; __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) == seen; i++)
			if (i % 4096 == 4095)
				sched_yield();
		seen = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
		part(job.out, job.in, 0, job.n * 45 / 100);
		__atomic_store_n(&done, seen, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	if (!thread)
		pthread_create(&thread, NULL, help, NULL);
	job.out = out;
	job.in = in;
	job.n = n;
	int ticket = wanted + 1;
	__atomic_store_n(&wanted, ticket, __ATOMIC_RELEASE);
	part(out, in, n * 45 / 100, n);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != ticket)
		sched_yield();
}
#endif
