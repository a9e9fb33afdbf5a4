#include "work.h"
#if VARIANT == CHEAT
/* Jumps out of a loop where it finds something. */
#include <setjmp.h>

static jmp_buf found;

static __attribute__((noinline)) void look(float x)
{
	if (x > 0.89f)
		longjmp(found, 1);
}

static void cheat(float *out, const float *in, int n)
{
	if (setjmp(found) == 0)
		for (int i = 0; i < n; i += 64)
			look(in[i]);
	honest(out, in, n);
}
#endif
