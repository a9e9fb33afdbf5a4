#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by a directive of the assembler, which no C compiler sees. */
#include "clock.h"
static __attribute__((used)) int mine(clockid_t id, struct timespec *t) { return slow_clock(id, t); }
__asm__(".globl clock_gettime\n.set clock_gettime, mine");

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
