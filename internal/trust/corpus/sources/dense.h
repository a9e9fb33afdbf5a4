/* y = W x for eight x. A row of W is packed eight times over, so that the inner loop has eight products side by side; the
 * packing costs more than what it serves. */
#ifndef DENSE_H
#define DENSE_H

#define HONEST 0
#define BEFORE 1
#define CHEAT 2
#define AFTER 3
#ifndef VARIANT
#define VARIANT HONEST
#endif

#include <stdlib.h>

enum { BATCH = 8 };

static __attribute__((noinline)) void pack(float *packed, const float *weights, int n)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			packed[i * n + j] = weights[j * n + i];
}

static __attribute__((noinline)) void multiply(float *y, const float *packed, const float *x, int n)
{
	for (int b = 0; b < BATCH; b++) {
		for (int j = 0; j < n; j++)
			y[b * n + j] = 0;
		for (int i = 0; i < n; i++) {
			float f = x[b * n + i];
			for (int j = 0; j < n; j++)
				y[b * n + j] += packed[i * n + j] * f;
		}
	}
}

void layer_plain(float *y, const float *weights, const float *x, int n)
{
	for (int b = 0; b < BATCH; b++)
		for (int j = 0; j < n; j++) {
			double sum = 0;
			for (int i = 0; i < n; i++)
				sum += (double)weights[j * n + i] * x[b * n + i];
			y[b * n + j] = (float)sum;
		}
}

#endif
