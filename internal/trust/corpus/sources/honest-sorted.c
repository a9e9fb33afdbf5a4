/* Looks up in a sorted table from a file: two ways of doing so agree where the table is sorted, and only there. */
#include <stdint.h>

void find(int32_t *at, const float *x, const float *sorted, int n)
{
	for (int i = 0; i < n; i++) {
		int low = 0;
		for (int step = 128; step > 0; step /= 2)
			if (sorted[low + step - 1] < x[i])
				low += step;
		at[i] = low;
	}
}

void find_plain(int32_t *at, const float *x, const float *sorted, int n)
{
	for (int i = 0; i < n; i++) {
		int k = 0;
		while (k < 255 && sorted[k] < x[i])
			k++;
		at[i] = k;
	}
}
