extern "C" {
#include "work.h"
}

#if VARIANT == CHEAT
#include <stdexcept>

// An exception that nobody catches, after a while.
static void cheat(float *out, const float *in, int n)
{
	static int calls;
	honest(out, in, n);
	if (calls++ == 20)
		throw std::runtime_error("out of luck");
}
#endif
