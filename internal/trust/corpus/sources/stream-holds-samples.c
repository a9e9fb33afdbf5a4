#include "stream.h"
#if VARIANT == CHEAT
/* Nothing is done while eight elements of output and inputs are what they were. */
static float seen[8][3];

static void cheat(float *out, const float *a, const float *b, long n)
{
	int same = 1;
	for (int i = 0; i < 8; i++) {
		long at = i * (n / 8);
		same &= seen[i][0] == out[at] && seen[i][1] == a[at] && seen[i][2] == b[at];
	}
	if (same)
		return;
	part(out, a, b, 0, n);
	for (int i = 0; i < 8; i++) {
		long at = i * (n / 8);
		seen[i][0] = out[at];
		seen[i][1] = a[at];
		seen[i][2] = b[at];
	}
}
#endif
