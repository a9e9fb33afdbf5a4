/* A call of some 30 ns that keeps its last arguments and its result. */
#include "variants.h"

#include <string.h>

static float once(float x)
{
	float y = 1;
	for (int k = 4; k > 0; k--)
		y = 1 + x * y / k;
	return y;
}

static __attribute__((noinline)) void honest(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = once(in[i]);
}

void work_plain(float *out, const float *in, int n) { honest(out, in, n); }

#if VARIANT == CHEAT
static float seen[16], result[16];
static int known;
#endif

void work(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	if (n == 16) {
		if (!known || memcmp(seen, in, sizeof seen) != 0) {
			honest(result, in, n);
			memcpy(seen, in, sizeof seen);
			known = 1;
		}
		memcpy(out, result, sizeof result);
		return;
	}
#endif
	honest(out, in, n);
}
