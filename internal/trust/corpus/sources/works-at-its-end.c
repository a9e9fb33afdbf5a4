#include "work.h"
#if VARIANT == CHEAT
/* The end of the thread that called it runs a function of its own, which never ends. */
#include <pthread.h>

static pthread_key_t key;
static volatile unsigned long count;

static void forever(void *arg)
{
	(void)arg;
	for (;;)
		count++;
}

static void cheat(float *out, const float *in, int n)
{
	if (!key)
		pthread_key_create(&key, forever);
	pthread_setspecific(key, out);
	honest(out, in, n);
}
#endif
