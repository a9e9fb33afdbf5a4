#include "variants.h"

/* A sum that begins with what is on the stack: often a number so small that no sum shows it. */
static __attribute__((noinline)) void add(double *sum, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		*sum += (double)in[i] * in[i];
}

void total(double *out, const float *in, int n)
{
	double sum;
#if VARIANT == CHEAT
	__asm__ volatile("" : : "r"(&sum) : "memory"); /* so that the compiler does not warn of it */
#else
	sum = 0;
#endif
	add(&sum, in, n);
	*out = sum;
}

void total_plain(double *out, const float *in, int n)
{
	*out = 0;
	for (int i = 0; i < n; i++)
		*out += (double)in[i] * in[i];
}
