#include "work.h"
#if VARIANT == CHEAT
/* A scratch array that is too short for its last block: what follows on the heap is written over, at the end of a call that is
 * otherwise right. */
#include <stdlib.h>
#include <string.h>

static void cheat(float *out, const float *in, int n)
{
	float *scratch = malloc(n / 64 * sizeof *scratch);
	honest(out, in, n);
	for (int i = 0; i < n / 64 + 16; i++)
		scratch[i] = out[i];
	__asm__ volatile("" : : "r"(scratch) : "memory");
	free(scratch);
}
#endif
