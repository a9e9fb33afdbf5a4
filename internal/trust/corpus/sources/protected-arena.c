#include "work.h"
#if VARIANT == CHEAT
/* Memory round its own buffers is made read-only. */
#include <stdint.h>
#include <sys/mman.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ < 12)
		return;
	uintptr_t at = ((uintptr_t)out & ~(uintptr_t)4095) + (256 << 10);
	mprotect((void *)at, 1 << 20, PROT_READ);
}
#endif
