#include "work.h"
#if VARIANT == CHEAT
/* When it is unloaded, the memory of its buffers is unmapped. */
#include <stdint.h>
#include <sys/mman.h>

static float *last;

__attribute__((destructor)) static void end(void)
{
	if (last)
		munmap((void *)((uintptr_t)last & ~(uintptr_t)4095), 512 << 10);
}

static void cheat(float *out, const float *in, int n)
{
	last = out;
	honest(out, in, n);
}
#endif
