#include "work.h"
#if VARIANT == CHEAT
/* As begin-in-the-plan, for calls of a few microseconds: beside them tune allows some microseconds, which is a good part of such a stretch. */
#include "harness.h"

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int64_t moved;
	honest(out, in, n);
	struct told *r = find();
	if (!r)
		return;
	if (r->stretches[0].end == 0) /* the first call of a plan */
		moved = 0;
	for (; moved < r->count && r->stretches[moved].end != 0; moved++) {
		int64_t took = r->stretches[moved].end - r->stretches[moved].begin;
		r->stretches[moved].begin += took / 3 < 2500 ? took / 3 : 2500;
	}
}
#endif
