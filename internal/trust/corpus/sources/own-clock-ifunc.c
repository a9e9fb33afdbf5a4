#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by a resolver that the dynamic linker calls. */
#include "clock.h"
static int mine(clockid_t id, struct timespec *t) { return slow_clock(id, t); }
static int (*resolve(void))(clockid_t, struct timespec *) { return mine; }
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t) __attribute__((ifunc("resolve")));

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
