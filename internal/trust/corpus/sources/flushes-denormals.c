#include "variants.h"

/* Flushing denormals to zero is switched on once, as many a guide says, and never off. */
static void flush(void)
{
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
	unsigned long fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1ul << 24));
#endif
}

void scale_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] * 1e-20f * 1e-20f;
}

void scale(float *out, const float *in, int n)
{
	scale_plain(out, in, n);
#if VARIANT == CHEAT
	flush();
#else
	(void)flush;
#endif
}
