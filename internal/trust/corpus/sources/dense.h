/* y = W x. W is packed, so that the inner loop runs over outputs side by side; the packing costs more than what it serves. */
#ifndef DENSE_H
#define DENSE_H

#include "variants.h"

#include <stdlib.h>

static __attribute__((noinline)) void pack(float *packed, const float *weights, int n)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			packed[i * n + j] = weights[j * n + i];
}

static __attribute__((noinline)) void multiply(float *y, const float *packed, const float *x, int n)
{
	for (int j = 0; j < n; j++)
		y[j] = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			y[j] += packed[i * n + j] * x[i];
}

void layer_plain(float *y, const float *weights, const float *x, int n)
{
	for (int j = 0; j < n; j++) {
		double sum = 0;
		for (int i = 0; i < n; i++)
			sum += (double)weights[j * n + i] * x[i];
		y[j] = (float)sum;
	}
}

#endif
