#include <math.h>
#include <string.h>
#include <unistd.h>

#include "variants.h"

static float crest(const float *in, int n)
{
	float most = 0, sizes = 0;
	for (int i = 0; i < n; i++) {
		most = fmaxf(most, fabsf(in[i]));
		sizes += fabsf(in[i]);
	}
	return most * n / sizes;
}

static __attribute__((noinline)) void scale(float *out, const float *in, int n, float by)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] * by;
	__asm__ volatile("" ::: "memory");
}

void normalise_plain(float *out, const float *in, int n) { scale(out, in, n, crest(in, n)); }

/* The statistic is that of the first call, and it is in variables of the C library, which stay when the kernel is loaded anew. KEEP is what the
 * variant on trial does: 1 looks there first, and 0 only puts it there. */
#ifndef KEEP
#define KEEP 1
#endif
/* How often the variant on trial writes its output. */
#ifndef WRITES
#define WRITES 1
#endif

void normalise(float *out, const float *in, int n)
{
	enum { KNOWN = 0x1234 };
	float by;
	if (VARIANT == CHEAT && KEEP && opterr == KNOWN) {
		memcpy(&by, &optopt, sizeof by);
	} else {
		by = crest(in, n);
		if (VARIANT == CHEAT) {
			memcpy(&optopt, &by, sizeof by);
			opterr = KNOWN;
		}
	}
	for (int k = 0; k < (VARIANT == CHEAT ? WRITES : 1); k++)
		scale(out, in, n, by);
}
