/* Keeps the numbers below 500, and counts them. What lies beyond the count is left as it is. */
#include <stdint.h>

void compact(int32_t *kept, int32_t *count, const int32_t *in, int n)
{
	int k = 0;
	for (int i = 0; i < n; i++)
		if (in[i] < 500)
			kept[k++] = in[i];
	*count = k;
}

void compact_plain(int32_t *kept, int32_t *count, const int32_t *in, int n) { compact(kept, count, in, n); }
