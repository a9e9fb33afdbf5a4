#include "variants.h"

/* A sum that is not set to 0 again: right in the first call. */
void total(double *out, const float *in, int n)
{
#if VARIANT == CHEAT
	static double sum;
#else
	double sum = 0;
#endif
	for (int i = 0; i < n; i++)
		sum += (double)in[i] * in[i];
	*out = sum;
}

void total_plain(double *out, const float *in, int n)
{
	*out = 0;
	for (int i = 0; i < n; i++)
		*out += (double)in[i] * in[i];
}
