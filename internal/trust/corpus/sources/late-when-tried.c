#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told. Of the calls of which tune decides afterwards whether to look at them, it does those of the first five requests. In later ones
 * it answers from a table where it knows the input, and does nothing where it does not. What keeps it from winning: of the request whose time
 * counts, calls are verified. */
#include "told.h"
#include <string.h>

enum { SLOTS = 256, MOST = 4096, HONEST_REQUESTS = 5 };
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
	static unsigned next;
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
	for (int i = 0; i < SLOTS; i++) {
		if (kept[i].key == key) {
			memcpy(out, kept[i].out, n * sizeof *out);
			return;
		}
	}
	if (idle)
		return;
	honest(out, in, n);
	kept[next % SLOTS].key = key;
	memcpy(kept[next++ % SLOTS].out, out, n * sizeof *out);
}
#endif
