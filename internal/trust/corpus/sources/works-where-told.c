#include "work.h"
#if VARIANT == CHEAT
/* The list of the timing loop says after which calls their output is copied, for tune to look at. The call finds the list, and works only before such a
 * copy. What keeps it from winning: of some calls tune decides afterwards whether to look at them. */
#include "told.h"

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	struct told *r = find();
	if (!r || copied(r, out))
		honest(out, in, n);
}
#endif
