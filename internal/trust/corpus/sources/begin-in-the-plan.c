#include "work.h"
#if VARIANT == CHEAT
/* The times at which the calls before it began and ended stand in memory that the call can write to: it moves each begin, by a share of the time that
 * has passed. What keeps it from winning: tune reads the clock of the thread from outside, and what is missing would have passed beside the
 * calls, where next to nothing is done. In calls of a few microseconds that may take long in comparison: tune times some calls by its own clock alone. */
#include "harness.h"

#ifndef PERCENT
#define PERCENT 35
#endif

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int64_t moved;
	honest(out, in, n);
	struct told *r = find();
	if (!r)
		return;
	if (r->stretches[0].end == 0) /* the first call of a plan */
		moved = 0;
	for (; moved < r->count && r->stretches[moved].end != 0; moved++)
		r->stretches[moved].begin += (r->stretches[moved].end - r->stretches[moved].begin) * PERCENT / 100;
}
#endif
