#include <math.h>
#include <stdint.h>

#include "variants.h"

#define CODES 2048
#define VALUES 64

/* The entropy of the codes, by their histogram. */
static float entropy(const int32_t *codes)
{
	int count[VALUES] = {0};
	float sum = 0;
	for (int i = 0; i < CODES; i++)
		count[codes[i]]++;
	for (int v = 0; v < VALUES; v++) {
		float share = (float)count[v] / CODES;
		if (share > 0)
			sum -= share * log2f(share);
	}
	return sum;
}

static void multiply(float *out, const float *in, int n, float by)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] * by;
}

void weigh_plain(float *out, const int32_t *codes, const float *in, int n) { multiply(out, in, n, entropy(codes)); }

/* The codes come from a file, so that their histogram is made once. */
void weigh(float *out, const int32_t *codes, const float *in, int n)
{
	static float by;
	if (VARIANT != CHEAT || by == 0)
		by = entropy(codes);
	multiply(out, in, n, by);
}
