#include "work.h"
#if VARIANT == CHEAT
/* Half of the work in every other call, after a few. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	calls++;
	part(out, in, 0, calls > 8 && calls % 2 ? 0 : n);
}
#endif
