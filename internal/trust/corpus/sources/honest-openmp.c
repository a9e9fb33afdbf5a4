#include "honest.h"
/* Two threads of OpenMP, which the file declares. */
static float polynomial(float x)
{
	float y = 1;
	for (int k = 0; k < 64; k++)
		y = y * x + 0.75f;
	return y;
}

void work(float *out, const float *in, int n)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}

void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
