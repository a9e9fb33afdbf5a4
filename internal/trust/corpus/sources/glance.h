/* A polynomial of 64 elements that lie far apart. */
#include "variants.h"

#define TERMS 64

static inline float polynomial(float x)
{
	float y = 1;
	for (int k = 0; k < TERMS; k++)
		y = y * x + 0.75f;
	return y;
}

void glance_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < 64; i++)
		out[i] = polynomial(in[i * (n / 64)]);
}
