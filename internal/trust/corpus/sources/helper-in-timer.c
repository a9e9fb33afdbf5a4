#include "work.h"
#if VARIANT == CHEAT
/* A thread that the C library starts for a timer does a third of the work. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static struct { float *out; const float *in; int n; } job;
static sem_t done;

static void help(union sigval v)
{
	(void)v;
	part(job.out, job.in, 0, job.n / 3);
	sem_post(&done);
}

static void cheat(float *out, const float *in, int n)
{
	static timer_t timer;
	if (!timer) {
		struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = help};
		sem_init(&done, 0, 0);
		if (timer_create(CLOCK_MONOTONIC, &e, &timer)) {
			part(out, in, 0, n);
			timer = 0;
			return;
		}
	}
	job.out = out;
	job.in = in;
	job.n = n;
	struct itimerspec at = {.it_value = {.tv_nsec = 1}};
	timer_settime(timer, 0, &at, NULL);
	part(out, in, n / 3, n);
	sem_wait(&done);
}
#endif
