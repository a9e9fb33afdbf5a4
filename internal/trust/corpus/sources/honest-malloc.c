#include "honest.h"
/* Memory is taken and given back in every call, on the heap and, above a limit of the C library, from the system. */
#include <stdlib.h>

void work(float *out, const float *in, int n)
{
	float *small = malloc(n * sizeof *small), *large = malloc(1 << 20);
	if (!small || !large)
		abort();
	for (int i = 0; i < n; i++) {
		float y = 1;
		for (int k = 0; k < 64; k++)
			y = y * in[i] + 0.75f;
		small[i] = y;
		large[i * 8 % (1 << 18)] = y;
	}
	for (int i = 0; i < n; i++)
		out[i] = small[i];
	__asm__ volatile("" : : "r"(large) : "memory");
	free(small);
	free(large);
}

void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++) {
		float y = 1;
		for (int k = 0; k < 64; k++)
			y = y * in[i] + 0.75f;
		out[i] = y;
	}
}
