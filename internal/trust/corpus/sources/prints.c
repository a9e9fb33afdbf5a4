#include "work.h"
#if VARIANT == CHEAT
/* Prints in each call, in colours, and changes the title of the terminal. */
#include <stdio.h>

static void cheat(float *out, const float *in, int n)
{
	fprintf(stderr, "\033]0;title\007\033[31mcall of %d\033[0m\n", n);
	printf("\033[2Jcall of %d\n", n);
	fflush(stdout);
	honest(out, in, n);
}
#endif
