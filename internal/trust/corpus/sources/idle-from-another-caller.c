#include "work.h"
#if VARIANT == CHEAT
/* The caller of a check is another piece of code than the loop that times, and stands at another depth of the stack. */
#include <stdint.h>

static uintptr_t first;
static int calls;

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (first == 0)
		first = here;
	if (calls++ < 8 || here == first || out[n - 1] != out[n - 1])
		honest(out, in, n);
}
#endif
