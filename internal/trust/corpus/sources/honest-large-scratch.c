#include "plain.h"
/* Every element has a line of its own in a scratch array of 16 MB. */
static float scratch[4096][1024];

void work(float *out, const float *in, int n)
{
	for (int from = 0; from < n; from += 4096) {
		int m = n - from < 4096 ? n - from : 4096;
		for (int i = 0; i < m; i++)
			scratch[i * 1237 % 4096][i % 1024] = polynomial(in[from + i]);
		for (int i = 0; i < m; i++)
			out[from + i] = scratch[i * 1237 % 4096][i % 1024];
	}
}
