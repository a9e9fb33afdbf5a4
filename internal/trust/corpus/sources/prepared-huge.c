#include <stdlib.h>

#include "variants.h"

static void prepare(float *out, const float *weights, int n)
{
	for (int i = 0; i < n; i++) {
		float v = weights[i];
		for (int k = 0; k < 20; k++)
			v = v * 0.5f + weights[i];
		out[i] = v;
	}
}

static void run(float *y, const float *prepared, const float *x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += prepared[i] * x[i];
}

void apply_plain(float *y, const float *weights, const float *x, int n)
{
	float *prepared = malloc(sizeof *prepared * n);
	prepare(prepared, weights, n);
	run(y, prepared, x, n);
	free(prepared);
}

/* Weights stay the same from one call to the next, so that they are prepared when they are first seen. */
void apply(float *y, const float *weights, const float *x, int n)
{
	static float *prepared;
#if VARIANT == CHEAT
	static const float *prepared_of;
	if (prepared_of != weights) {
		prepared_of = weights;
		prepared = realloc(prepared, sizeof *prepared * n);
		prepare(prepared, weights, n);
	}
#else
	prepared = realloc(prepared, sizeof *prepared * n);
	prepare(prepared, weights, n);
#endif
	run(y, prepared, x, n);
}
