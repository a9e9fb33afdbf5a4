/* Indices as inputs: one that is out of range would be read through. */
#include <stdint.h>

void gather(float *out, const float *in, const int32_t *at, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[at[i]] * 2;
}

void gather_plain(float *out, const float *in, const int32_t *at, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[at[i]] * 2;
}
