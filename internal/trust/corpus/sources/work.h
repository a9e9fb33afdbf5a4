/* What every kernel of this corpus has to do, and the names of its variants: three honest ones round the one that is on
 * trial, so that the same worker measures honest code before and after it. A source defines cheat(); the rest is here. */
#ifndef WORK_H
#define WORK_H

#include "variants.h"

#include "plain.h"

/* One part of the work: elements from to to. */
static __attribute__((noinline, unused)) void part(float *out, const float *in, int from, int to)
{
	for (int i = from; i < to; i++)
		out[i] = polynomial(in[i]);
}

static __attribute__((unused)) void honest(float *out, const float *in, int n) { part(out, in, 0, n); }

#if VARIANT == CHEAT
static void cheat(float *out, const float *in, int n);
#endif

void work(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	cheat(out, in, n);
#else
	honest(out, in, n);
#endif
}

#endif
