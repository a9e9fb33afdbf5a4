#include "variants.h"

#include <math.h>
#include <stdlib.h>

static inline float root(double x, double y)
{
	for (int k = 0; k < 60; k++) {
		double next = y - (y * y * y - x) / (3 * y * y);
		if (fabs(next - y) <= 1e-9 * y)
			break;
		y = next;
	}
	return (float)y;
}

void roots_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = (float)cbrt(in[i]);
}

/* The iteration begins at the root of the last call: from one step of a simulation to the next little changes. */
void roots(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	static float *last;
	if (last == NULL) {
		last = malloc(sizeof *last * n);
		for (int i = 0; i < n; i++)
			last[i] = 5;
	}
	for (int i = 0; i < n; i++)
		out[i] = last[i] = root(in[i], last[i]);
#else
	for (int i = 0; i < n; i++)
		out[i] = root(in[i], 5);
#endif
}
