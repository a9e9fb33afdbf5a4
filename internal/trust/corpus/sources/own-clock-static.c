#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by a static function and a #define for its name. */
#include "clock.h"
struct tune_timespec;
static __attribute__((used)) int mine(int id, struct tune_timespec *t) { return slow_clock(id, (struct timespec *)t); }
#define clock_gettime mine
#define tune_clock_gettime mine

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
