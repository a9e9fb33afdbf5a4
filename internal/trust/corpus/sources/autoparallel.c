/* The compiler makes two threads of this loop if it is told to. */
#include "variants.h"

#include "plain.h"

void work(float *restrict out, const float *restrict in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = polynomial(in[i]);
}
