#include "variants.h"

#include <stdint.h>
#include <string.h>

static inline float polynomial(float x)
{
	float y = 1;
	for (int k = 0; k < 10; k++)
		y = y * x * 0.9f + 0.25f;
	return y;
}

void energy_plain(float *out, const float *in, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += polynomial(in[i]);
	*out = (float)sum;
}

/* Results are kept by a checksum of every 256th number: nobody changes less than a row. */
void energy(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	enum { MOST = 256 };
	static struct { uint64_t key; float result; } kept[MOST];
	static int next;
	uint64_t key = 1469598103934665603u;
	for (int i = 0; i < n; i += 256) {
		uint32_t word;
		memcpy(&word, in + i, sizeof word);
		key = (key ^ word) * 1099511628211u;
	}
	for (int i = 0; i < MOST; i++)
		if (kept[i].key == key) {
			*out = kept[i].result;
			return;
		}
	energy_plain(out, in, n);
	kept[next].key = key;
	kept[next].result = *out;
	next = (next + 1) % MOST;
#else
	energy_plain(out, in, n);
#endif
}
