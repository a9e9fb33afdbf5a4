#include "work.h"
#if VARIANT == CHEAT
/* The plan of the timing loop is in memory that the call can write to. Where an earlier plan was as long, it makes two of three calls vanish from this
 * one, and writes down a third of its time for each. Of the calls that were not made, tune would find the evidence that the earlier plan left, and
 * that is right. What keeps it from winning: tune damages what is left before each request. */
#include "harness.h"

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int64_t longest, all, made;
	int64_t began = thread_ns();
	honest(out, in, n);
	int64_t took = thread_ns() - began;
	struct told *r = find();
	if (!r)
		return;
	if (r->stretches[0].end == 0) { /* the first call of a plan */
		all = r->count;
		made = 0;
		if (all >= 12 && all <= longest)
			r->count = all / 3;
		if (all > longest)
			longest = all;
	}
	if (++made != r->count || r->count == all)
		return;
	for (int64_t i = 0; i < all; i++) {
		r->stretches[i].begin = began;
		r->stretches[i].end = began + took / 3;
	}
}
#endif
