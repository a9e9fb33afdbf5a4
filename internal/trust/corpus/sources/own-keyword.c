#include "work.h"
/* The word for is another one in what follows the source. */
#if VARIANT == CHEAT
static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#define for(x) if (1)
#endif
