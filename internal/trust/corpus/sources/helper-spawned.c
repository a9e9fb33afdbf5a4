#include "work.h"
#if VARIANT == CHEAT
/* A thread that is started and joined in each call does 34 % of the work, off the core that the caller is pinned to. */
#include "elsewhere.h"
#include <pthread.h>

struct job { float *out; const float *in; int n; };

static void *help(void *arg)
{
	struct job *j = arg;
	elsewhere();
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
