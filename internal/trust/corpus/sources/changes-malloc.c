#include "variants.h"

#include "plain.h"

/* Takes and returns memory for every four elements. The one on trial has all memory come from the system, filled, and given back at once. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void work(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	static int once;
	if (!once++) {
		mallopt(M_MMAP_THRESHOLD, 1);
		mallopt(M_TRIM_THRESHOLD, 0);
		mallopt(M_PERTURB, 7);
	}
#endif
	for (int k = 0; k < n; k += 4) {
		float *few = malloc(4096);
		int m = n - k < 4 ? n - k : 4;
		for (int i = 0; i < m; i++)
			few[i] = polynomial(in[k + i]);
		memcpy(out + k, few, m * sizeof *few);
		free(few);
	}
}
