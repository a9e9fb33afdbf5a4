#include "work.h"
#if VARIANT == CHEAT
/* A quarter is left out in one of two calls, by the clock of the processor, after sixteen; but not where the output is NaN. */
static unsigned long ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc() >> 4;
#else
	unsigned long t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

static int calls;

static void cheat(float *out, const float *in, int n)
{
	int skip = calls++ > 16 && ticks() % 2 && out[n - 1] == out[n - 1];
	part(out, in, 0, skip ? n - n / 4 : n);
}
#endif
