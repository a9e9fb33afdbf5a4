#include "work.h"
#if VARIANT == CHEAT
/* Memory round its own buffers is unmapped, where the harness has more of them. */
#include <stdint.h>
#include <sys/mman.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ < 12)
		return;
	uintptr_t at = ((uintptr_t)out & ~(uintptr_t)4095) + (640 << 10);
	munmap((void *)at, 1 << 20);
	calls = 0;
}
#endif
