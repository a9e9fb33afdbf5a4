#include "honest.h"
/* Three arrays that no cache holds. */
void add(float *restrict out, const float *restrict a, const float *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		out[i] = a[i] + 0.5f * b[i];
}

void add_plain(float *out, const float *a, const float *b, long n)
{
	for (long i = 0; i < n; i++)
		out[i] = a[i] + 0.5f * b[i];
}
