#include "update.h"
/* The plain update, in place: all variants are update.h's own. */
#if VARIANT == CHEAT
static void cheat(float *x, int n) { part(x, 0, n); }
#endif
