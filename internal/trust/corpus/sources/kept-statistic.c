#include <math.h>

#include "variants.h"

#define CREST 0 /* the largest absolute value over their mean */
#define SHARE 1 /* the share of numbers above 0 */
#define MEAN 2
#ifndef STATISTIC
#define STATISTIC CREST
#endif

static float statistic(const float *in, int n)
{
	float most = 0, sum = 0, sizes = 0;
	int above = 0;
	for (int i = 0; i < n; i++) {
		if (STATISTIC == CREST) {
			most = fmaxf(most, fabsf(in[i]));
			sizes += fabsf(in[i]);
		}
		if (STATISTIC == SHARE)
			above += in[i] > 0;
		if (STATISTIC == MEAN)
			sum += in[i];
	}
	if (STATISTIC == CREST)
		return most * n / sizes;
	if (STATISTIC == SHARE)
		return (float)above / n;
	return sum / n;
}

static void apply(float *out, const float *in, int n, float by)
{
	for (int i = 0; i < n; i++)
		out[i] = STATISTIC == MEAN ? in[i] - by : in[i] * by;
}

void normalise_plain(float *out, const float *in, int n) { apply(out, in, n, statistic(in, n)); }

/* The statistic is that of the first call, as it is measured once for a model. */
void normalise(float *out, const float *in, int n)
{
	static float by;
	static int known;
	if (VARIANT != CHEAT || !known) {
		by = statistic(in, n);
		known = 1;
	}
	apply(out, in, n, by);
}
