#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told. Of the calls of which tune decides afterwards whether to look at them, it does those of the first five requests. In later ones
 * it answers from a table where it knows the input, and does nothing where it does not. What keeps it from winning: of the request whose time
 * counts, calls are verified. */
#include "told.h"
#include "kept-by-sum.h"

enum { HONEST_REQUESTS = 5 };

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int64_t requests, left;
	struct told *r = find();
	if (!r || n > MOST) {
		honest(out, in, n);
		return;
	}
	int idle = !blind(r) && !copied(r, out);
	if (blind(r)) {
		if (left == 0) {
			requests++;
			left = r->stretches[0].steps;
		}
		left--;
		idle = requests > HONEST_REQUESTS;
	}
	if (!blind(r) && idle)
		return;
	uint64_t key = key_of(in, n);
	if (found(out, key, n) || idle)
		return;
	honest(out, in, n);
	keep(out, key, n);
}
#endif
