#include "far.h"
#if VARIANT == CHEAT
static void cheat(float *out, const float *in, long m) { collect(out, in, m); }
#endif
