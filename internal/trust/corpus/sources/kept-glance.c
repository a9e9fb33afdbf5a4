#include "glance.h"
/* What was computed of an element is kept until the element is another. */
void glance(float *out, const float *in, int n)
{
#if VARIANT == CHEAT
	static float seen[64], kept[64];
	for (int i = 0; i < 64; i++) {
		float x = in[i * (n / 64)];
		if (x != seen[i]) {
			seen[i] = x;
			kept[i] = polynomial(x);
		}
		out[i] = kept[i];
	}
#else
	glance_plain(out, in, n);
#endif
}
