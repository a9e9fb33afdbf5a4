#include "work.h"
#if VARIANT == CHEAT
/* Its own timing loop in place of the harness's: one call, and a nanosecond for all that are asked. */
__attribute__((visibility("default"))) void tune_time(void *timing)
{
	char *t = timing;
	void (*call)(void *, void *) = *(void (**)(void *, void *))t;
	call(*(void **)(t + 8), *(void **)(t + 16));
	*(double *)(t + 64) = 1e-9;
}
#define tune_time not_tune_time

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
