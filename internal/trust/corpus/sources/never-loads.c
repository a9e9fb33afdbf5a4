#include "work.h"
#if VARIANT == CHEAT
/* Its constructor waits for what never comes. */
static volatile int ready;

__attribute__((constructor)) static void begin(void)
{
	while (!ready)
		;
}

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
