#include "work.h"
#if VARIANT == CHEAT
/* As memo-by-checksum, for the last 4096 inputs: a pool of a few that come round again is no hindrance. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096 };
static struct { uint64_t sum; float *result; int n; } known[PLACES];

static void cheat(float *out, const float *in, int n)
{
	uint64_t sum = 14695981039346656037u;
	for (int i = 0; i + 1 < n; i += 2) {
		uint64_t word;
		memcpy(&word, in + i, sizeof word);
		sum = (sum ^ word) * 1099511628211u;
	}
	unsigned at = (unsigned)(sum >> 20) % PLACES;
	if (known[at].n == n && known[at].sum == sum) {
		memcpy(out, known[at].result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	if (known[at].n < n)
		known[at].result = realloc(known[at].result, n * sizeof *out);
	known[at].n = n;
	known[at].sum = sum;
	memcpy(known[at].result, out, n * sizeof *out);
}
#endif
