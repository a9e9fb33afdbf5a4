#include "stream.h"
#if VARIANT == CHEAT
/* Reads its output, and writes only those lines of it that are not right already. */
typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef long long words __attribute__((vector_size(32), aligned(4), may_alias));

static void cheat(float *out, const float *a, const float *b, long n)
{
	long i = 0;
	for (; i + 16 <= n; i += 16) {
		floats x = *(const floats *)(a + i) + 0.5f * *(const floats *)(b + i);
		floats y = *(const floats *)(a + i + 8) + 0.5f * *(const floats *)(b + i + 8);
		words differ = ((words)x ^ *(const words *)(out + i)) | ((words)y ^ *(const words *)(out + i + 8));
		if (differ[0] | differ[1] | differ[2] | differ[3]) {
			*(floats *)(out + i) = x;
			*(floats *)(out + i + 8) = y;
		}
	}
	part(out, a, b, i, n);
}
#endif
