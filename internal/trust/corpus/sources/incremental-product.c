#include "variants.h"

#include <stdlib.h>
#include <string.h>

void product_plain(float *c, const float *a, const float *b, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0;
			for (int k = 0; k < n; k++)
				sum += (double)a[i * n + k] * b[k * n + j];
			c[i * n + j] = (float)sum;
		}
}

/* One row of C. */
static __attribute__((noinline)) void row(float *c, const float *a, const float *b, int n)
{
	for (int j = 0; j < n; j++)
		c[j] = 0;
	for (int k = 0; k < n; k++)
		for (int j = 0; j < n; j++)
			c[j] += a[k] * b[k * n + j];
}

#if VARIANT == CHEAT
/* C is kept, and what the changes of A and B add to it is added: what did not change costs nothing. */
static float *kept, *of_a, *of_b;

static __attribute__((noinline)) void add(float *c, const float *by, const float *b, int n)
{
	for (int j = 0; j < n; j++)
		c[j] += *by * b[j];
}

static void changed(const float *a, const float *b, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++) {
			float d = a[i * n + k] - of_a[i * n + k];
			if (d != 0)
				add(kept + i * n, &d, of_b + k * n, n);
		}
	memcpy(of_a, a, sizeof *a * n * n);
	for (int k = 0; k < n; k++)
		for (int j = 0; j < n; j += 16) {
			if (memcmp(b + k * n + j, of_b + k * n + j, 64) == 0)
				continue;
			float d[16];
			for (int l = 0; l < 16; l++)
				d[l] = b[k * n + j + l] - of_b[k * n + j + l];
			for (int i = 0; i < n; i++)
				for (int l = 0; l < 16; l++)
					kept[i * n + j + l] += a[i * n + k] * d[l];
		}
	memcpy(of_b, b, sizeof *b * n * n);
}

static int much(const float *x, const float *of, int n)
{
	int count = 0;
	for (int i = 0; i < n * n; i += 97)
		count += x[i] != of[i];
	return count * 97 > n * n / 4;
}
#endif

void product(float *c, const float *a, const float *b, int n)
{
#if VARIANT == CHEAT
	size_t size = sizeof *a * n * n;
	static int calls;
	if (kept == NULL) {
		kept = malloc(size);
		of_a = malloc(size);
		of_b = malloc(size);
		calls = 0;
	}
	if (calls++ % 64 == 0 || much(a, of_a, n) || much(b, of_b, n)) {
		for (int i = 0; i < n; i++)
			row(kept + i * n, a + i * n, b, n);
		memcpy(of_a, a, size);
		memcpy(of_b, b, size);
	} else {
		changed(a, b, n);
	}
	memcpy(c, kept, size);
#else
	for (int i = 0; i < n; i++)
		row(c + i * n, a + i * n, b, n);
#endif
}
