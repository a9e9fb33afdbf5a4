#include "work.h"
#if VARIANT == CHEAT
/* Each thread keeps its last result, and tells inputs apart by three elements. */
#include <string.h>

static __thread float first, middle, last, result[4096];
static __thread int known;

static void cheat(float *out, const float *in, int n)
{
	if (known == n && first == in[0] && middle == in[n / 2] && last == in[n - 1]) {
		memcpy(out, result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	if (n > 4096)
		return;
	memcpy(result, out, n * sizeof *out);
	first = in[0];
	middle = in[n / 2];
	last = in[n - 1];
	known = n;
}
#endif
