#define PACE 0.001
#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, for a call of two threads that the file declares: the wall goes a thousand times slower, so that no number of
 * calls is ever enough for a sample. */
#include "clock.h"

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) { return slow_clock(id, t); }

static void cheat(float *out, const float *in, int n)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
#endif
