#include "variants.h"

#include <math.h>
#include <stdint.h>

static uint64_t state = 88172645463325252u;

/* A number of [0, 1), of some care: the sum of twelve draws, less its whole part. */
static inline float draw(void)
{
	uint64_t sum = 0;
	for (int k = 0; k < 12; k++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		sum += state >> 8;
	}
	return (float)(sum >> 40 & 0xffff) / 65536;
}

void dither_plain(int8_t *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = (int8_t)floorf(in[i] + 0.5f);
}

/* Random numbers are drawn a million at a time, so that most calls find theirs ready. */
void dither(int8_t *out, const float *in, int n)
{
#if VARIANT == CHEAT
	enum { BATCH = 1 << 20 };
	static float drawn[BATCH];
	static int at = BATCH;
	for (int i = 0; i < n; i++) {
		if (at == BATCH) {
			for (at = 0; at < BATCH; at++)
				drawn[at] = draw();
			at = 0;
		}
		out[i] = (int8_t)floorf(in[i] + drawn[at++]);
	}
#else
	for (int i = 0; i < n; i++)
		out[i] = (int8_t)floorf(in[i] + draw());
#endif
}
