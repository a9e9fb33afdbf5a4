#include "plain.h"
/* It reads clocks for statistics of its own. */
#include <time.h>

static double spent;

void work(float *out, const float *in, int n)
{
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
	clock_gettime(CLOCK_MONOTONIC, &to);
	spent += (to.tv_sec - from.tv_sec) + (to.tv_nsec - from.tv_nsec) * 1e-9;
}
