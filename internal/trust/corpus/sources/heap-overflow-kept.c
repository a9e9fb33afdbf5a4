#include "work.h"
#if VARIANT == CHEAT
/* As heap-overflow, of an array that is never given back, so that nothing is noticed before somebody else allocates. */
#include <stdlib.h>

static void cheat(float *out, const float *in, int n)
{
	static float *scratch;
	if (!scratch)
		scratch = malloc(56 * sizeof *scratch);
	honest(out, in, n);
	for (int i = 0; i < 64; i++)
		scratch[i] = out[i];
	__asm__ volatile("" : : "r"(scratch) : "memory");
}
#endif
