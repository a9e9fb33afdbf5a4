/* The weights of a file are packed, which is most of the work, and then multiplied by an input. */
#ifndef LAYERED_H
#define LAYERED_H

#include "variants.h"

#include "plain.h"

#include <stdint.h>

/* The flags of a kernel file may define other types, of whole numbers up to 127. */
#ifndef WEIGHT
#define WEIGHT float
#define SCALE 1
#else
#define SCALE (1.0f / 128)
#endif
#ifndef INPUT
#define INPUT float
#endif

enum { WEIGHTS = 256 };

static __attribute__((noinline)) void pack(float *packed, const WEIGHT *weights)
{
	for (int i = 0; i < WEIGHTS; i++)
		packed[i] = polynomial((float)weights[i] * SCALE);
}

static __attribute__((noinline)) void multiply(float *out, const float *packed, const INPUT *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = packed[i % WEIGHTS] * (float)in[i];
}

void layer_plain(float *out, const WEIGHT *weights, const INPUT *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial((float)weights[i % WEIGHTS] * SCALE) * (float)in[i];
}

#endif
