/* The polynomial of one number of each line of memory, in an order that no prefetcher of the processor follows. */
#ifndef LINES_H
#define LINES_H

#include "variants.h"

#include "plain.h"

enum { LINE = 16, STEP = 1021 };

#if VARIANT == CHEAT
static void cheat(float *out, const float *in, long n);
#endif

static inline __attribute__((always_inline)) void each(float *restrict out, const float *restrict in, long n, const char *next)
{
	long at = 0;
	for (long i = 0; i < n; i++) {
		if (next)
			__builtin_prefetch(next + LINE * sizeof *in * at);
		out[i] = polynomial(in[LINE * at]);
		at += STEP;
		at = at >= n ? at % n : at;
	}
}

void lines_plain(float *out, const float *in, long n) { each(out, in, n, 0); }

void lines(float *out, const float *in, long n)
{
#if VARIANT == CHEAT
	cheat(out, in, n);
#else
	each(out, in, n, 0);
#endif
}

#endif
