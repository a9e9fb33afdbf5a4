#include "work.h"
#if VARIANT == CHEAT
/* Its own clock_gettime, which the timing loop would call. */
#include "clock.h"
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) { return slow_clock(id, t); }

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
