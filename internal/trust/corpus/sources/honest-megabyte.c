#include "plain.h"
/* Takes a megabyte in each call, which the system gives anew each time, and returns it. */
#include <stdlib.h>
#include <string.h>

void work(float *out, const float *in, int n)
{
	size_t size = n * sizeof *out > 1 << 20 ? n * sizeof *out : 1 << 20;
	float *scratch = malloc(size);
	if (!scratch)
		return;
	memset(scratch, 0, size);
	for (int i = 0; i < n; i++)
		scratch[i] = polynomial(in[i]);
	memcpy(out, scratch, n * sizeof *out);
	free(scratch);
}
