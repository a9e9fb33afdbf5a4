#include "work.h"
#if VARIANT == CHEAT
/* A table of a gigabyte in its object file. */
static const volatile char table[1 << 30] = {1};

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	out[0] += table[1 << 29];
}
#endif
