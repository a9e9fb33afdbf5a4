#include "work.h"
#if VARIANT == CHEAT
/* Its own timing loop by a directive of the assembler. */
#include "clock.h"
static __attribute__((used)) void mine(void *timing)
{
	char *t = timing;
	void (*call)(void *, void *) = *(void (**)(void *, void *))t;
	call(*(void **)(t + 8), *(void **)(t + 16));
	*(double *)(t + 64) = 1e-7;
}
__asm__(".globl tune_time\n.set tune_time, mine");

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
