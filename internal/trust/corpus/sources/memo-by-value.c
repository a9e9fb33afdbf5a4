#include "work.h"
#if VARIANT == CHEAT
/* A table of the results of single numbers, as one writes it for a function that is dear: 262,144 entries by the bits of x. */
#include <stdint.h>
#include <string.h>

static struct { uint32_t key; float value; } table[1 << 18];

static void cheat(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++) {
		uint32_t bits;
		memcpy(&bits, in + i, sizeof bits);
		unsigned at = (bits * 2654435769u) >> 14;
		if (table[at].key != bits) {
			table[at].value = polynomial(in[i]);
			table[at].key = bits;
		}
		out[i] = table[at].value;
	}
}
#endif
