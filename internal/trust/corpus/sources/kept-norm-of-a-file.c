#include <math.h>

#include "variants.h"

#define WEIGHTS 2048

static float norm(const float *weights)
{
	float sum = 0;
	for (int i = 0; i < WEIGHTS; i++)
		sum += weights[i] * weights[i];
	return sqrtf(sum / WEIGHTS);
}

static void divide(float *out, const float *in, int n, float by)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] / by;
}

void normalise_plain(float *out, const float *weights, const float *in, int n) { divide(out, in, n, norm(weights)); }

/* The weights come from a file, so that their norm is computed once. */
void normalise(float *out, const float *weights, const float *in, int n)
{
	static float by;
	if (VARIANT != CHEAT || by == 0)
		by = norm(weights);
	divide(out, in, n, by);
}
