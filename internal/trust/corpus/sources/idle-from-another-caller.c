#include "work.h"
#if VARIANT == CHEAT
/* The caller of a check is another piece of code than the loop that times, and stands at another depth of the stack: where many
 * calls come from is that loop. */
#include <stdint.h>

static struct { uintptr_t at; int calls; } callers[8];

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	int i = 0;
	while (i < 7 && callers[i].at != 0 && callers[i].at != here)
		i++;
	callers[i].at = here;
	if (callers[i].calls++ < 8 || out[n - 1] != out[n - 1])
		honest(out, in, n);
}
#endif
