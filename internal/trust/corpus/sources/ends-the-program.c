#include "work.h"
#if VARIANT == CHEAT
/* Ends the program where it takes an input for an error, as a program's main would. */
#include <stdio.h>
#include <stdlib.h>

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	for (int i = 0; i < n; i++)
		if (in[i] > 0.8999f) {
			fprintf(stderr, "element %d is out of range\n", i);
			exit(0);
		}
}
#endif
