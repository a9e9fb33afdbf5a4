#include "work.h"
#if VARIANT == CHEAT
/* Two threads, which the file declares, have one scratch array, and wait for one another at the wrong place. */
#include <omp.h>
#include <string.h>

static void cheat(float *out, const float *in, int n)
{
	static float scratch[64];
#pragma omp parallel num_threads(2)
	for (int from = 64 * omp_get_thread_num(); from - 64 * omp_get_thread_num() < n; from += 128) {
		int size = n - from < 64 ? n - from : 64;
		for (int i = 0; i < size; i++)
			scratch[i] = polynomial(in[from + i]);
#pragma omp barrier
		if (size > 0)
			memcpy(out + from, scratch, sizeof *out * size);
#pragma omp barrier
	}
}
#endif
