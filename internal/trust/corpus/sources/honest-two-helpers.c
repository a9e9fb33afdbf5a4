#include "plain.h"
/* Two threads that stay from call to call, which the file declares. The caller gives them the work, and waits. */
#include <pthread.h>

static struct { float *out; const float *in; int n; } job;
static pthread_t threads[2];
static pthread_barrier_t begin, done;
static int leave;

static void *help(void *arg)
{
	int half = arg != 0;
	for (;;) {
		pthread_barrier_wait(&begin);
		if (leave)
			return 0;
		for (int i = half * (job.n / 2); i < (half ? job.n : job.n / 2); i++)
			job.out[i] = polynomial(job.in[i]);
		pthread_barrier_wait(&done);
	}
}

__attribute__((destructor)) static void end(void)
{
	if (!threads[0])
		return;
	leave = 1;
	pthread_barrier_wait(&begin);
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
}

void work(float *out, const float *in, int n)
{
	if (!threads[0]) {
		pthread_barrier_init(&begin, 0, 3);
		pthread_barrier_init(&done, 0, 3);
		pthread_create(&threads[0], 0, help, 0);
		pthread_create(&threads[1], 0, help, &leave);
	}
	job.out = out;
	job.in = in;
	job.n = n;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&done);
}
