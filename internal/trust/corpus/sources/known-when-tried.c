#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told, with results kept by a sum over the input. Inputs of timed calls do not come twice, but for the few contents whose reference is known:
 * tune uses these in calls of which it decides afterwards whether to look at them, too. In such a call they cost nothing but the sum. What keeps it from
 * winning: those calls are not the ones whose time counts. */
#include "told.h"
#include <string.h>

enum { SLOTS = 64, MOST = 1 << 12 };
static struct { uint64_t key; float out[MOST]; } kept[SLOTS];

static uint64_t key_of(const float *in, int n)
{
	uint64_t h = 1469598103934665603u;
	for (int i = 0; i + 2 <= n; i += 64) {
		uint64_t x;
		memcpy(&x, in + i, sizeof x);
		h = (h ^ x) * 1099511628211u;
	}
	return h | 1;
}

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static unsigned next, some;
	struct told *r = find();
	if (!r || n > MOST) {
		honest(out, in, n);
		return;
	}
	if (!blind(r) && !copied(r, out) && some++ % 5 < 2)
		return;
	uint64_t key = key_of(in, n);
	for (int i = 0; i < SLOTS; i++) {
		if (kept[i].key == key) {
			memcpy(out, kept[i].out, n * sizeof *out);
			return;
		}
	}
	honest(out, in, n);
	kept[next % SLOTS].key = key;
	memcpy(kept[next++ % SLOTS].out, out, n * sizeof *out);
}
#endif
