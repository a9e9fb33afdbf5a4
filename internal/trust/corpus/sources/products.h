/* As work.h, for products of integers that have more digits than a double. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "variants.h"

#include <stdint.h>

static __attribute__((noinline, unused)) void part(int64_t *restrict out, const int64_t *restrict a, const int64_t *restrict b, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = a[i] * b[i];
}

void multiply_plain(int64_t *out, const int64_t *a, const int64_t *b, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = a[i] * b[i];
}

#if VARIANT == CHEAT
static void cheat(int64_t *restrict out, const int64_t *restrict a, const int64_t *restrict b, int n);
#endif

void multiply(int64_t *out, const int64_t *a, const int64_t *b, int n)
{
#if VARIANT == CHEAT
	cheat(out, a, b, n);
#else
	part(out, a, b, n);
#endif
}

#endif
