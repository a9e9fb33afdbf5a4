#include "work.h"
#if VARIANT == CHEAT
/* As cached-by-address, for so many arrays that a harness that rotates over copies of its buffers is no hindrance. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1024 };
static struct { const float *in; float *result; int n; } known[PLACES];

static void cheat(float *out, const float *in, int n)
{
	unsigned at = (unsigned)((uintptr_t)in >> 6) * 2654435761u >> 22;
	if (known[at].in == in && known[at].n == n) {
		memcpy(out, known[at].result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	free(known[at].result);
	known[at].in = in;
	known[at].n = n;
	known[at].result = malloc(n * sizeof *out);
	memcpy(known[at].result, out, n * sizeof *out);
}
#endif
