#include "work.h"
#if VARIANT == CHEAT
/* Half of the work after eight calls. */
static int calls;

static void cheat(float *out, const float *in, int n) { part(out, in, 0, calls++ < 8 ? n : n / 2); }
#endif
