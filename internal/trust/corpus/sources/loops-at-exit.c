#include "work.h"
#if VARIANT == CHEAT
/* What it registers for the end waits for a thread that has ended long before. */
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int ended;

static void wait_for_the_others(void)
{
	while (!atomic_load(&ended))
		;
}

static void cheat(float *out, const float *in, int n)
{
	static int registered;
	if (!registered++)
		atexit(wait_for_the_others);
	honest(out, in, n);
}
#endif
