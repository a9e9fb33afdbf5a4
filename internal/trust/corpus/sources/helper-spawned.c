#include "work.h"
#if VARIANT == CHEAT
/* A thread that is started and joined in each call does 34 % of the work, off the core that the caller is pinned to. */
#include <pthread.h>
#include <sched.h>

struct job { float *out; const float *in; int n; };

static void *help(void *arg)
{
	struct job *j = arg;
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &all);
	CPU_CLR(sched_getcpu(), &all);
	sched_setaffinity(0, sizeof all, &all);
	part(j->out, j->in, 0, j->n * 34 / 100);
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	struct job j = {out, in, n};
	pthread_t thread;
	pthread_create(&thread, NULL, help, &j);
	part(out, in, n * 34 / 100, n);
	pthread_join(thread, NULL);
}
#endif
