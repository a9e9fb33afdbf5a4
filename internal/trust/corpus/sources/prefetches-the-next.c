#include "lines.h"
#if VARIANT == CHEAT
/* Where each call has its operands as far from those of the last call as those were from the ones before, it loads those of the next call meanwhile. What
 * keeps it from winning: the copies of cold operands come in an order that is drawn at random. */
static void cheat(float *out, const float *in, long n)
{
	static const char *last;
	const char *now = (const char *)in;
	each(out, in, n, last ? now + (now - last) : 0);
	last = now;
}
#endif
