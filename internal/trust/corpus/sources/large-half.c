#include "stream.h"
#if VARIANT == CHEAT
/* Half of the work in two of three calls, after four. */
static int calls;

static void cheat(float *out, const float *a, const float *b, long n)
{
	part(out, a, b, 0, calls > 4 && calls % 3 && out[n - 1] == out[n - 1] ? n / 2 : n);
	calls++;
}
#endif
