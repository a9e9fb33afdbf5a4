#include "work.h"
#if VARIANT == CHEAT
/* A thread that calls itself something else stays behind, and works. */
#include <pthread.h>
#include <sys/prctl.h>

static volatile unsigned long count;

static void *stay(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "kworker", 0, 0, 0);
	for (;;)
		count++;
	return NULL;
}

static void cheat(float *out, const float *in, int n)
{
	static pthread_t thread;
	if (!thread)
		pthread_create(&thread, NULL, stay, NULL);
	honest(out, in, n);
}
#endif
