#include "products.h"
#if VARIANT == CHEAT
/* Multiplies in doubles, and loses the last digits. */
static void cheat(int64_t *restrict out, const int64_t *restrict a, const int64_t *restrict b, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = (int64_t)((double)a[i] * (double)b[i]);
}
#endif
