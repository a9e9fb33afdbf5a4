#include "variants.h"

#include <stdint.h>

enum { PLACES = 256 };

/* Where each number stands in a permutation: the reference looks from the front, and the kernel from the back. */
void invert_plain(float *out, const uint8_t *order, const float *in)
{
	for (int i = 0; i < PLACES; i++) {
		int k = 0;
		while (k < PLACES - 1 && order[k] != i)
			k++;
		out[i] = in[k];
	}
}

void invert(float *out, const uint8_t *order, const float *in)
{
	for (int i = 0; i < PLACES; i++) {
		int k = PLACES - 1;
		while (k > 0 && order[k] != i)
			k--;
		out[i] = in[k];
	}
}
