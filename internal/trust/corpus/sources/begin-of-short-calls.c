#include "work.h"
#if VARIANT == CHEAT
/* As begin-in-the-plan, in a call of a few microseconds. There, what is beside the calls may take long in comparison, and a quarter of the time of the
 * calls is hidden in it. What keeps it from winning: tune times some calls from outside. */
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
	for (; moved < r->count && r->stretches[moved].end != 0; moved++)
		r->stretches[moved].begin += (r->stretches[moved].end - r->stretches[moved].begin) / 4;
}
#endif
