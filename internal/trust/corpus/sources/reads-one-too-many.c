#include "work.h"
#if VARIANT == CHEAT
/* Each element is one of two, and which one depends on the next input: the last looks past the end. */
static void cheat(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++) {
		float next = in[i + 1];
		out[i] = polynomial(in[i]) + (next == next ? 0 : 1);
	}
}
#endif
