#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by a weak symbol. */
#include "clock.h"
__attribute__((weak, visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) { return slow_clock(id, t); }

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
