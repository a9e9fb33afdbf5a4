#include "work.h"
/* The plain work of work.h. */
#if VARIANT == CHEAT
static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
