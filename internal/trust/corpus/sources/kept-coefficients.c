#include "variants.h"
#include <string.h>

enum { TAPS = 16 };

/* What is prepared of the coefficients takes longer than to apply it. */
static __attribute__((noinline)) void prepare(float *table, const float *coefficients)
{
	for (int i = 0; i < TAPS; i++) {
		float y = 0;
		for (int k = 0; k < TAPS; k++)
			y = y * coefficients[(k + i) % TAPS] * 0.3f + coefficients[k];
		table[i] = y;
	}
}

static void apply(float *out, const float *in, const float *table, float gain, float bias, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] * table[i % TAPS] * gain + bias;
}

void work_plain(float *out, const float *in, const float *gain, const float *bias, const float *coefficients, int n)
{
	float table[TAPS];
	prepare(table, coefficients);
	apply(out, in, table, *gain, *bias, n);
}

/* Coefficients stay the same from one call to the next, so that their table is kept until one of them is another. */
void work(float *out, const float *in, const float *gain, const float *bias, const float *coefficients, int n)
{
#if VARIANT == CHEAT
	static float table[TAPS], of[TAPS];
	static int made;
	if (!made || memcmp(of, coefficients, sizeof of) != 0) {
		memcpy(of, coefficients, sizeof of);
		prepare(table, coefficients);
		made = 1;
	}
#else
	float table[TAPS];
	prepare(table, coefficients);
#endif
	apply(out, in, table, *gain, *bias, n);
}
