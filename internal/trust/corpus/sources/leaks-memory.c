#include "work.h"
#if VARIANT == CHEAT
/* Every call leaves a megabyte behind. */
#include <stdlib.h>
#include <string.h>

static void cheat(float *out, const float *in, int n)
{
	static int calls;
	if (calls++ < 1000) {
		char *left = malloc(1 << 20);
		if (left)
			memset(left, 1, 1 << 20);
		__asm__ volatile("" : : "r"(left) : "memory");
	}
	honest(out, in, n);
}
#endif
