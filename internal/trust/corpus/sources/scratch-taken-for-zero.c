#include "work.h"
#if VARIANT == CHEAT
/* Takes memory once and takes it for zero, as it is where the system has just given it to the process. */
#include <stdlib.h>

static void cheat(float *out, const float *in, int n)
{
	static float *sums;
	static int room;
	if (n > room) {
		free(sums);
		sums = malloc(n * sizeof *sums);
		room = n;
	}
	for (int i = 0; i < n; i++)
		sums[i] += polynomial(in[i]);
	for (int i = 0; i < n; i++) {
		out[i] = sums[i];
		sums[i] = 0;
	}
}
#endif
