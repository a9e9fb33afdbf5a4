#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by an alias. */
#include "clock.h"
static __attribute__((used)) int mine(clockid_t id, struct timespec *t) { return slow_clock(id, t); }
extern int other_name(clockid_t, struct timespec *) __asm__("clock_gettime") __attribute__((alias("mine"), visibility("default")));

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
