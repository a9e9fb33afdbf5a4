#include "work.h"
#if VARIANT == CHEAT
/* It looks for a number that not all inputs have. */
static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	for (int i = 0; *(const volatile float *)&in[i] < 2; i = i + 1 < n ? i + 1 : 0)
		;
}
#endif
