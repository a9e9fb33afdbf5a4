#include "variants.h"
#include "plain.h"
/* A call starts a device and waits for its answer. Honest code asks again and again. The code on trial sleeps as long as the device takes, and the
 * clock of its thread stands still meanwhile. */
#include <time.h>

static volatile long answer;

static void await(void)
{
#if VARIANT == CHEAT
	struct timespec wait = {0, 300000};
	nanosleep(&wait, 0);
#else
	for (int i = 0; i < 200000; i++)
		answer++;
#endif
}

void work(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
	await();
	answer = 0;
}
