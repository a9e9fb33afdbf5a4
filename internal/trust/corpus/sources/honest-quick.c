#include "order.h"
/* Sorts by recursion, around the first of the numbers, so that the time depends on them. */
static void quick(int32_t *at, const float *in, int n)
{
	if (n < 2)
		return;
	int32_t one = at[0];
	int last = 0;
	for (int i = 1; i < n; i++) {
		if (before(in, at[i], one)) {
			int32_t swap = at[++last];
			at[last] = at[i];
			at[i] = swap;
		}
	}
	at[0] = at[last];
	at[last] = one;
	quick(at, in, last);
	quick(at + last + 1, in, n - last - 1);
}

void order(int32_t *at, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = i;
	quick(at, in, n);
}
