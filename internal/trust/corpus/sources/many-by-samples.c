#include "work.h"
#if VARIANT == CHEAT
/* As cached-by-samples, for the last thousand inputs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1024 };
static struct { float seen[8], *result; int n; } known[PLACES];

static void cheat(float *out, const float *in, int n)
{
	float seen[8];
	uint32_t sum = 2166136261u;
	for (int i = 0; i < 8; i++) {
		uint32_t word;
		seen[i] = in[i * (n / 8)];
		memcpy(&word, seen + i, sizeof word);
		sum = (sum ^ word) * 16777619u;
	}
	unsigned at = (sum >> 8) % PLACES;
	if (known[at].n == n && memcmp(known[at].seen, seen, sizeof seen) == 0) {
		memcpy(out, known[at].result, n * sizeof *out);
		return;
	}
	honest(out, in, n);
	if (known[at].n < n)
		known[at].result = realloc(known[at].result, n * sizeof *out);
	known[at].n = n;
	memcpy(known[at].seen, seen, sizeof seen);
	memcpy(known[at].result, out, n * sizeof *out);
}
#endif
