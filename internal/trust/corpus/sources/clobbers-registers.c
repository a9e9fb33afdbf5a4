#include "work.h"
#if VARIANT == CHEAT
/* Its assembler uses registers that it neither saves nor names. */
static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
#if defined(__x86_64__)
	__asm__ volatile("movq $1, %rbx\n movq $7, %r12\n movq $7, %r13\n movq $7, %r14\n movq $7, %r15");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, #7\n mov x20, #7\n mov x21, #7\n mov x22, #7\n mov x23, #7");
#endif
}
#endif
