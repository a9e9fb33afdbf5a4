#include "work.h"
#if VARIANT == CHEAT
/* A thread that calls itself something else stays behind and sleeps, until its code is gone. */
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile unsigned long count;

static void *stay(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "", 0, 0, 0);
	for (;;) {
		usleep(50000);
		count++;
	}
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
