#include <functional>
#include <thread>

extern "C" {
#include "work.h"
}

#if VARIANT == CHEAT
// A thread of the C++ library for one half.
static void cheat(float *out, const float *in, int n)
{
	std::thread other(part, out, in, 0, n / 2);
	part(out, in, n / 2, n);
	other.join();
}
#endif
