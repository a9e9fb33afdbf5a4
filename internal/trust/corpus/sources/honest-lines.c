#include "lines.h"
#if VARIANT == CHEAT
static void cheat(float *out, const float *in, long n) { each(out, in, n, 0); }
#endif
