/* A thread helps in the calls of the first 1.5 ms of each request, so that some samples are fast, and the others pay for nothing. */
#include "work.h"

#if VARIANT == CHEAT
#include "elsewhere.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NONE, POSTED, TAKEN, DONE };

static struct { float *out; const float *in; int n; } job;
static _Atomic int awake, state;

static long now(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *help(void *arg)
{
	(void)arg;
	elsewhere();
	for (;;) {
		while (!awake)
			syscall(SYS_futex, &awake, FUTEX_WAIT, 0, NULL, NULL, 0);
		for (long began = now(CLOCK_THREAD_CPUTIME_ID); now(CLOCK_THREAD_CPUTIME_ID) - began < 1500000;) {
			int posted = POSTED;
			if (atomic_compare_exchange_strong(&state, &posted, TAKEN)) {
				part(job.out, job.in, 0, job.n * 45 / 100);
				state = DONE;
			}
		}
		awake = 0;
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	static long last;
	if (!thread)
		pthread_create(&thread, NULL, help, NULL);
	if (!awake && now(CLOCK_MONOTONIC) - last > 400000) { /* a new request */
		awake = 1;
		syscall(SYS_futex, &awake, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	int mine = n * 45 / 100, posted = POSTED;
	if (awake) {
		job.out = out;
		job.in = in;
		job.n = n;
		state = POSTED;
	}
	part(out, in, mine, n);
	if (state == NONE || atomic_compare_exchange_strong(&state, &posted, NONE)) {
		part(out, in, 0, mine);
	} else {
		while (state != DONE)
			;
		state = NONE;
	}
	last = now(CLOCK_MONOTONIC);
}
#endif
