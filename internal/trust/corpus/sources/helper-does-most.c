#include "work.h"
#if VARIANT == CHEAT
/* A thread that sleeps until there is work does 55 % of it, and the caller sleeps until that is done. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

static struct { float *out; const float *in; int n; } job;
static sem_t wanted, done;

static void *help(void *arg)
{
	(void)arg;
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &all);
	CPU_CLR(sched_getcpu(), &all);
	sched_setaffinity(0, sizeof all, &all);
	for (;;) {
		sem_wait(&wanted);
		part(job.out, job.in, 0, job.n * 55 / 100);
		sem_post(&done);
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	if (!thread) {
		sem_init(&wanted, 0, 0);
		sem_init(&done, 0, 0);
		pthread_create(&thread, NULL, help, NULL);
	}
	job.out = out;
	job.in = in;
	job.n = n;
	sem_post(&wanted);
	part(out, in, n * 55 / 100, n);
	sem_wait(&done);
}
#endif
