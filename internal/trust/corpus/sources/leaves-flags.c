#include "work.h"
#if VARIANT == CHEAT
/* Leaves the direction of string instructions and the rounding as no caller expects them. */
static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() | 0x8040) ^ 0x6000);
	__asm__ volatile("std" ::: "cc");
#endif
}
#endif
