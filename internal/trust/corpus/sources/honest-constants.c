#include "work.h"
/* The plain work on constant inputs. */
#if VARIANT == CHEAT
static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
