/* As work.h, for arrays that no cache holds, and for short ones: out = a + b / 2. */
#ifndef STREAM_H
#define STREAM_H

#include "variants.h"

static __attribute__((noinline, unused)) void part(float *restrict out, const float *restrict a, const float *restrict b, long from, long to)
{
	for (long i = from; i < to; i++)
		out[i] = a[i] + 0.5f * b[i];
}

void add_plain(float *out, const float *a, const float *b, long n)
{
	for (long i = 0; i < n; i++)
		out[i] = a[i] + 0.5f * b[i];
}

#if VARIANT == CHEAT
static void cheat(float *out, const float *a, const float *b, long n);
#endif

void add(float *out, const float *a, const float *b, long n)
{
#if VARIANT == CHEAT
	cheat(out, a, b, n);
#else
	part(out, a, b, 0, n);
#endif
}

#endif
