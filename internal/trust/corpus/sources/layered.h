/* The weights of a file are packed, which is most of the work, and then multiplied by an input. */
#ifndef LAYERED_H
#define LAYERED_H

#include "variants.h"

#include "plain.h"

enum { WEIGHTS = 256 };

static __attribute__((noinline)) void pack(float *packed, const float *weights)
{
	for (int i = 0; i < WEIGHTS; i++)
		packed[i] = polynomial(weights[i]);
}

static __attribute__((noinline)) void multiply(float *out, const float *packed, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = packed[i % WEIGHTS] * in[i];
}

void layer_plain(float *out, const float *weights, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(weights[i % WEIGHTS]) * in[i];
}

#endif
