/* The order of numbers: out[k] is where the k-th of them is. */
#ifndef ORDER_H
#define ORDER_H

#include "variants.h"

#include <stdint.h>

static inline int before(const float *in, int32_t a, int32_t b) { return in[a] < in[b] || (in[a] == in[b] && a < b); }

/* Sorts by insertion, which is quick where nearly all is in order. */
static __attribute__((noinline, unused)) void insert(int32_t *at, const float *in, int n)
{
	for (int i = 1; i < n; i++) {
		int32_t one = at[i];
		int k = i;
		for (; k > 0 && before(in, one, at[k - 1]); k--)
			at[k] = at[k - 1];
		at[k] = one;
	}
}

static __attribute__((unused)) void sink(int32_t *at, const float *in, int i, int n)
{
	int32_t one = at[i];
	for (int child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && before(in, at[child], at[child + 1]))
			child++;
		if (!before(in, one, at[child]))
			break;
		at[i] = at[child];
	}
	at[i] = one;
}

static __attribute__((noinline, unused)) void sort(int32_t *at, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = i;
	for (int i = n / 2; i-- > 0;)
		sink(at, in, i, n);
	for (int i = n - 1; i > 0; i--) {
		int32_t one = at[0];
		at[0] = at[i];
		at[i] = one;
		sink(at, in, 0, i);
	}
}

void order_plain(int32_t *at, const float *in, int n) { sort(at, in, n); }

#endif
