#include "work.h"
#if VARIANT == CHEAT
/* The list of the timing loop says after which calls their output is copied, for tune to look at. The call finds the list, and works only before such a
 * copy. What keeps it from winning: of some calls tune decides afterwards whether to look at them. */
#include "harness.h"

struct operation { float *to; const float *from; int64_t size; };

static __attribute__((noinline)) int copied(const struct told *r, const float *out)
{
	const struct operation *all = r->operations;
	int64_t i = 0;
	while (i < r->count && r->stretches[i].end != 0)
		i++;
	if (i == r->count)
		return 1;
	const struct operation *last = all + r->stretches[i].after;
	for (const struct operation *o = all + r->stretches[i].before; o < last; o++)
		if (o->from == out && o->size > 0)
			return 1;
	return 0;
}

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	struct told *r = find();
	if (!r || copied(r, out))
		honest(out, in, n);
}
#endif
