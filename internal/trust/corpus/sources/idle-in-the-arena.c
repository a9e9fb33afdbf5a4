#include "work.h"
#if VARIANT == CHEAT
/* The buffers of a check end at the end of a page; those that are timed lie elsewhere. */
#include <stdint.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	uintptr_t end = ((uintptr_t)(out + n) + 63) & ~(uintptr_t)63;
	if (end % 4096 == 0 || calls++ < 8 || out[n - 1] != out[n - 1])
		honest(out, in, n);
}
#endif
