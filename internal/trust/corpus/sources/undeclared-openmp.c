#include "work.h"
#if VARIANT == CHEAT
/* Two threads, and no word of them in the file. */
static void cheat(float *out, const float *in, int n)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
#endif
