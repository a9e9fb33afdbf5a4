#include "plain.h"
/* A thread does half of the work and waits, and the call cancels it: two threads, which the file declares. */
#include <pthread.h>
#include <semaphore.h>

static struct { float *out; const float *in; int n; } job;
static sem_t done, never;

static void *help(void *arg)
{
	(void)arg;
	for (int i = 0; i < job.n / 2; i++)
		job.out[i] = polynomial(job.in[i]);
	sem_post(&done);
	sem_wait(&never);
	return 0;
}

void work(float *out, const float *in, int n)
{
	pthread_t thread;
	job.out = out;
	job.in = in;
	job.n = n;
	sem_init(&done, 0, 0);
	sem_init(&never, 0, 0);
	pthread_create(&thread, 0, help, 0);
	for (int i = n / 2; i < n; i++)
		out[i] = polynomial(in[i]);
	sem_wait(&done);
	pthread_cancel(thread);
	pthread_join(thread, 0);
}
