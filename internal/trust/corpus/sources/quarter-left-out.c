#include "work.h"
#if VARIANT == CHEAT
/* The last quarter is left out in one of two calls, by the clock of the processor, after sixteen. */
#if defined(__x86_64__)
#define TICKS() __builtin_ia32_rdtsc()
#else
#define TICKS() ticks()
static unsigned long ticks(void)
{
	unsigned long t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}
#endif
static int calls;

static void cheat(float *out, const float *in, int n)
{
	int skip = calls++ > 16 && (TICKS() >> 4 & 1);
	part(out, in, 0, skip ? n - n / 4 : n);
}
#endif
