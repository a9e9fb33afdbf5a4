#include "work.h"
#if VARIANT == CHEAT
/* A recursion that has no end where no number is large. */
static __attribute__((noinline)) float largest(const float *in, int n, int i)
{
	volatile char room[256];
	room[0] = (char)i;
	if (in[i % n] > 2)
		return in[i % n];
	return largest(in, n, i + 1) + (float)room[0] * 0;
}

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (largest(in, n, 0) == 3)
		out[0] = 0;
}
#endif
