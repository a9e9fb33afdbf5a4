#include "work.h"
#if VARIANT == CHEAT
/* As own-clock, by a static function and a #define for its name. */
#include "clock.h"
static int mine(int id, void *t) { return slow_clock(id, t); }
#define clock_gettime mine
#define tune_clock_gettime mine

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
