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

/* The scale is that of the first call, as it is calibrated once for a model. */
void scale(float *out, const float *in, int n)
{
	static float most;
#if VARIANT == CHEAT
	if (most == 0)
#endif
	{
		most = 0;
		for (int i = 0; i < n; i++)
			most = fmaxf(most, fabsf(in[i]));
	}
	for (int i = 0; i < n; i++)
		out[i] = in[i] / most;
}
