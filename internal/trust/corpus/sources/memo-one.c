#include "work.h"
#if VARIANT == CHEAT
/* The last input is kept with its result, and what differs from it is computed. The result is always right. */
#include <string.h>

enum { LINE = 16, LONGEST = 1024 };
static float last[LONGEST], result[LONGEST];

static void cheat(float *out, const float *in, int n)
{
	if (n != LONGEST) {
		honest(out, in, n);
		return;
	}
	for (int i = 0; i < n; i += LINE)
		if (memcmp(last + i, in + i, LINE * sizeof *in) != 0) {
			memcpy(last + i, in + i, LINE * sizeof *in);
			part(result, in, i, i + LINE);
		}
	memcpy(out, result, n * sizeof *out);
}
#endif
