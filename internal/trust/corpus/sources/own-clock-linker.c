#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by --wrap of the linker. */
#include "clock.h"
__attribute__((visibility("default"))) int __wrap_clock_gettime(clockid_t id, struct timespec *t) { return slow_clock(id, t); }

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
