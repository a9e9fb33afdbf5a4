/* Numbers from all over a large array, whose pages the processor has to find. */
#ifndef FAR_H
#define FAR_H

#include <stdint.h>

#include "variants.h"

enum { SHARE = 128 };

static __attribute__((unused)) void collect(float *restrict out, const float *restrict in, long m)
{
	uint64_t x = 1;
	for (long i = 0; i < m; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		out[i] = 2 * in[(x >> 32) * (uint64_t)(SHARE * m) >> 32];
	}
}

void far_plain(float *out, const float *in, long m) { collect(out, in, m); }

#if VARIANT == CHEAT
static void cheat(float *out, const float *in, long m);
#endif

void far(float *out, const float *in, long m)
{
#if VARIANT == CHEAT
	cheat(out, in, m);
#else
	collect(out, in, m);
#endif
}

#endif
