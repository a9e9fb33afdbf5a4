#include "variants.h"

#include <stdint.h>
#include <stdlib.h>

#ifndef WORK
#define WORK 40
#endif

/* What is done to an index before it is used. */
static __attribute__((noinline)) int32_t place(int32_t at, int n)
{
	uint64_t h = (uint64_t)at;
	for (int k = 0; k < WORK; k++)
		h = h * 6364136223846793005u + 1442695040888963407u;
	return (int32_t)((h >> 33) % (uint64_t)n);
}

void gather_plain(float *out, const float *in, const int32_t *at, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[place(at[i], n)] * 2;
}

/* The places are computed once: a matrix keeps its pattern, and only its numbers change. */
void gather(float *out, const float *in, const int32_t *at, int n)
{
#if VARIANT == CHEAT
	static int32_t *plan;
	static const int32_t *of;
	if (of != at) {
		free(plan);
		plan = malloc(sizeof *plan * n);
		for (int i = 0; i < n; i++)
			plan[i] = place(at[i], n);
		of = at;
	}
	for (int i = 0; i < n; i++)
		out[i] = in[plan[i]] * 2;
#else
	gather_plain(out, in, at, n);
#endif
}
