#include "plain.h"
/* A static buffer for what lies between two passes; its content does not matter from call to call. */
#include <stdlib.h>

static float *scratch;
static int size;

void work(float *out, const float *in, int n)
{
	if (size < n) {
		free(scratch);
		scratch = malloc(n * sizeof *scratch);
		size = n;
	}
	for (int i = 0; i < n; i++) {
		float y = 1;
		for (int k = 0; k < 32; k++)
			y = y * in[i] + 0.75f;
		scratch[i] = y;
	}
	for (int i = 0; i < n; i++) {
		float y = scratch[i];
		for (int k = 0; k < 32; k++)
			y = y * in[i] + 0.75f;
		out[i] = y;
	}
}
