#include "plain.h"
/* Two threads of OpenMP, which the file declares, take parts as they come. */
void work(float *out, const float *in, int n)
{
#pragma omp parallel for num_threads(2) schedule(dynamic, 256)
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
