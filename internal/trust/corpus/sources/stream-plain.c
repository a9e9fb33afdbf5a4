#include "stream.h"
#if VARIANT == CHEAT
/* The plain sum of two arrays. */
static void cheat(float *out, const float *a, const float *b, long n) { part(out, a, b, 0, n); }
#endif
