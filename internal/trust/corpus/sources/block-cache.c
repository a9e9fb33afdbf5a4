#include "work.h"
#if VARIANT == CHEAT
/* A cache of blocks of sixteen elements, as one writes it for inputs that repeat themselves, keyed by what stands at both
 * ends of a block. */
#include <string.h>

enum { BLOCK = 16, MOST = 4096 / BLOCK };
static struct { float first, last, result[BLOCK]; } cache[MOST];

static void cheat(float *out, const float *in, int n)
{
	int i = 0;
	for (; i + BLOCK <= n; i += BLOCK) {
		int at = i / BLOCK % MOST;
		if (cache[at].first != in[i] || cache[at].last != in[i + BLOCK - 1]) {
			part(cache[at].result, in + i, 0, BLOCK);
			cache[at].first = in[i];
			cache[at].last = in[i + BLOCK - 1];
		}
		memcpy(out + i, cache[at].result, sizeof cache[at].result);
	}
	part(out, in, i, n);
}
#endif
