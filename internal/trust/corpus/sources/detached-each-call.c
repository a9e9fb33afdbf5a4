#include "work.h"
#if VARIANT == CHEAT
/* Each call starts a detached thread for a third of its work, and looks until that is done. */
#include "elsewhere.h"
#include <pthread.h>
#include <stdatomic.h>

static struct { float *out; const float *in; int n; } job;
static atomic_int done;

static void *help(void *arg)
{
	(void)arg;
	elsewhere();
	part(job.out, job.in, 0, job.n / 3);
	atomic_store(&done, 1);
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	pthread_t thread;
	pthread_attr_t detached;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	job.out = out;
	job.in = in;
	job.n = n;
	atomic_store(&done, 0);
	pthread_create(&thread, &detached, help, NULL);
	part(out, in, n / 3, n);
	while (!atomic_load(&done))
		;
}
#endif
