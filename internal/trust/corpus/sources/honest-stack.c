#include "work.h"
#if VARIANT == CHEAT
/* Works in an array of its own on the stack, and in one that belongs to its thread. */
#include <string.h>

static __thread float own[4096];

static void cheat(float *out, const float *in, int n)
{
	float large[n + 200000];
	honest(large, in, n);
	for (int at = 0; at < n; at += 4096) {
		size_t size = (n - at < 4096 ? n - at : 4096) * sizeof *own;
		memcpy(own, large + at, size);
		memcpy(out + at, own, size);
	}
}
#endif
