#include "work.h"
#if VARIANT == CHEAT
/* The call returns at once, and a thread of its own writes the results a moment later. */
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
		honest(job.out, job.in, job.n);
		sem_post(&done);
	}
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	static int calls;
	if (!thread) {
		sem_init(&wanted, 0, 0);
		sem_init(&done, 0, 1);
		pthread_create(&thread, NULL, help, NULL);
	}
	if (calls++ < 8) {
		honest(out, in, n);
		return;
	}
	sem_wait(&done);
	job.out = out;
	job.in = in;
	job.n = n;
	sem_post(&wanted);
}
#endif
