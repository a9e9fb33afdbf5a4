#include "work.h"
#if VARIANT == CHEAT
/* Its destructor writes through a null pointer. */
__attribute__((destructor)) static void end(void) { *(volatile int *)8 = 1; }

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
