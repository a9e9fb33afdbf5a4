#include "plain.h"
/* Memory is taken and given back in every call, on the heap and, above a limit of the C library, from the system. */
#include <stdlib.h>

void work(float *out, const float *in, int n)
{
	float *small = malloc(n * sizeof *small), *large = malloc(1 << 20);
	if (!small || !large)
		abort();
	for (int i = 0; i < n; i++) {
		small[i] = polynomial(in[i]);
		large[i * 8 % (1 << 18)] = small[i];
	}
	for (int i = 0; i < n; i++)
		out[i] = small[i];
	__asm__ volatile("" : : "r"(large) : "memory");
	free(small);
	free(large);
}
