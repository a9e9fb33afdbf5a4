#include "work.h"
#if VARIANT == CHEAT
/* Two threads, which the file declares, have one scratch array. */
#include <omp.h>
#include <string.h>

static void cheat(float *out, const float *in, int n)
{
	static float scratch[64];
#pragma omp parallel for num_threads(2) schedule(static, 1)
	for (int block = 0; block < (n + 63) / 64; block++) {
		int from = block * 64, size = n - from < 64 ? n - from : 64;
		for (int i = 0; i < size; i++)
			scratch[i] = polynomial(in[from + i]);
		memcpy(out + from, scratch, sizeof *out * size);
	}
}
#endif
