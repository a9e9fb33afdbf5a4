#include "work.h"
#if VARIANT == CHEAT
/* Two buffers in turn: what is returned was computed from the input of the call before, as in a pipeline. */
#include <stdlib.h>
#include <string.h>

static void cheat(float *out, const float *in, int n)
{
	static float *held;
	if (held == NULL) {
		held = malloc(sizeof *held * n);
		honest(held, in, n);
	}
	memcpy(out, held, sizeof *held * n);
	honest(held, in, n);
}
#endif
