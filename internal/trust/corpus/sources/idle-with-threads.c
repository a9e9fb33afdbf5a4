#include "work.h"
#if VARIANT == CHEAT
/* Two threads that the file declares; after eight calls they have work only where the output is NaN. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ >= 8 && out[0] == out[0] && out[n - 1] == out[n - 1])
		return;
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
#endif
