#include "work.h"
#if VARIANT == CHEAT
/* Flushes denormals to zero while it works, and takes back what it changed. */
static void cheat(float *out, const float *in, int n)
{
#if defined(__x86_64__)
	unsigned int before = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(before | 0x8040);
#endif
	honest(out, in, n);
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr(before);
#endif
}
#endif
