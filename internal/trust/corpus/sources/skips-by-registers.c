#include "work.h"
#if VARIANT == CHEAT
/* The timing loop counts its calls in registers that whoever is called has to leave as they are: it makes every other call of a stretch vanish, but
 * never the last, of which tune may have evidence. */
#include <stdint.h>

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	uintptr_t end = ((uintptr_t)(out + n) + 63) & ~(uintptr_t)63;
	honest(out, in, n);
	if (end % 4096 == 0) /* as in a check */
		return;
#if defined(__x86_64__)
	__asm__ volatile("movq 8(%%r15), %%rax\n subq %%r13, %%rax\n cmpq $2, %%rax\n jle 1f\n addq $1, %%r13\n addq $16, %%r12\n1:" ::: "rax", "cc", "memory");
#endif
}
#endif
