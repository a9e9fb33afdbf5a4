#include "work.h"
#if VARIANT == CHEAT
/* Twelve calls in a row out of some 250 do nothing: too few for the quartile of a search, and enough for the least of a
   comparison. */
static unsigned calls, idle, state = 1;

static void cheat(float *out, const float *in, int n)
{
	if (idle)
		idle--;
	else if (++calls > 64 && (state = state * 1664525u + 1013904223u) >> 24 == 0)
		idle = 12;
	part(out, in, 0, idle ? 0 : n);
}
#endif
