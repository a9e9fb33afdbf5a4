#include "work.h"
#if VARIANT == CHEAT
/* The result is kept with a checksum of the whole input: an input that was seen before costs no more than being read. */
#include <stdint.h>
#include <string.h>

static uint64_t seen;
static float result[4096];
static int known;

static void cheat(float *out, const float *in, int n)
{
	uint64_t sum = 14695981039346656037u;
	for (int i = 0; i + 1 < n; i += 2) {
		uint64_t word;
		memcpy(&word, in + i, sizeof word);
		sum = (sum ^ word) * 1099511628211u;
	}
	if (known == n && sum == seen) {
		memcpy(out, result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	if (n > 4096)
		return;
	memcpy(result, out, n * sizeof *out);
	seen = sum;
	known = n;
}
#endif
