#include "variants.h"

#include <math.h>

void scale_plain(float *out, const float *in, int n)
{
	float most = 0;
	for (int i = 0; i < n; i++)
		most = fmaxf(most, fabsf(in[i]));
	for (int i = 0; i < n; i++)
		out[i] = in[i] / most;
}

/* The scale is that of some numbers: of many random ones these are as large as all. */
void scale(float *out, const float *in, int n)
{
	float most = 0;
	for (int i = 0; i < n; i += VARIANT == CHEAT ? 16 : 1)
		most = fmaxf(most, fabsf(in[i]));
	for (int i = 0; i < n; i++)
		out[i] = in[i] / most;
}
