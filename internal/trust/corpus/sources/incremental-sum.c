#include "variants.h"

#include <string.h>

/* Partial sums of blocks are kept, and a block is summed again where its first element has changed: as one writes it for a
 * buffer that a ring of readings moves through. */
void total(double *out, const float *in, int n)
{
#if VARIANT == CHEAT
	enum { BLOCK = 256, MOST = 256 };
	static struct { float first; double sum; } kept[MOST];
	double all = 0;
	for (int b = 0; b < n / BLOCK && b < MOST; b++) {
		const float *block = in + b * BLOCK;
		if (kept[b].first != block[0]) {
			kept[b].sum = 0;
			for (int i = 0; i < BLOCK; i++)
				kept[b].sum += (double)block[i] * block[i];
			kept[b].first = block[0];
		}
		all += kept[b].sum;
	}
	*out = all;
#else
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += (double)in[i] * in[i];
	*out = sum;
#endif
}

void total_plain(double *out, const float *in, int n)
{
	*out = 0;
	for (int i = 0; i < n; i++)
		*out += (double)in[i] * in[i];
}
