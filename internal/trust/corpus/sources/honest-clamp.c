/* Bounds an array that no cache holds in place, and writes only what that changes. */
#include "variants.h"

void clamp(float *x, long n)
{
	for (long i = 0; i < n; i++)
		if (x[i] > 0.99f)
			x[i] = 0.99f;
}

void clamp_plain(float *x, long n) { clamp(x, n); }
