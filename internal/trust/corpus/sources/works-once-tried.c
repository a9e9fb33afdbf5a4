#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told, until it meets calls of which tune decides afterwards whether to look at them. From then on it does all of its work, so that
 * timed calls beside those calls seem to say that the machine has become slower. What keeps it from winning: where only those
 * calls excuse it, they are its cost. */
#include "told.h"

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int tried;
	struct told *r = find();
	if (r && blind(r))
		tried = 1;
	if (!r || tried || copied(r, out))
		honest(out, in, n);
}
#endif
