/* A thread that sleeps until there is work does SHARE % of it, and the caller sleeps until that is done. */
#include "elsewhere.h"
#include <pthread.h>
#include <semaphore.h>

static struct { float *out; const float *in; int n; } job;
static sem_t wanted, done;

static void *help(void *arg)
{
	(void)arg;
	elsewhere();
	for (;;) {
		sem_wait(&wanted);
		part(job.out, job.in, 0, job.n * SHARE / 100);
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
	part(out, in, n * SHARE / 100, n);
	sem_wait(&done);
}
