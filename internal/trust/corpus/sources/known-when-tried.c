#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told, with results kept by a sum over the input. Inputs of timed calls do not come twice, but for the few contents whose reference is known:
 * tune uses these in calls of which it decides afterwards whether to look at them, too. In such a call they cost nothing but the sum. What keeps it from
 * winning: those calls are not the ones whose time counts. */
#include "told.h"
#include "kept-by-sum.h"

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static unsigned some;
	struct told *r = find();
	if (!r || n > MOST) {
		honest(out, in, n);
		return;
	}
	if (!blind(r) && !copied(r, out) && some++ % 5 < 2)
		return;
	uint64_t key = key_of(in, n);
	if (found(out, key, n))
		return;
	honest(out, in, n);
	keep(out, key, n);
}
#endif
