#include "far.h"
#if VARIANT == CHEAT
/* When it is unloaded, the memory that it was timed on goes back to the system, to come again in small pages. The candidates that follow are timed there. */
#include <stdio.h>
#include <sys/mman.h>

static const float *last;

__attribute__((destructor)) static void end(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		uintptr_t from, to;
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || (uintptr_t)last < from || (uintptr_t)last >= to)
			continue;
		madvise((void *)from, to - from, MADV_NOHUGEPAGE);
		madvise((void *)from, to - from, MADV_DONTNEED);
	}
	if (f)
		fclose(f);
}

static void cheat(float *out, const float *in, long m)
{
	last = in;
	collect(out, in, m);
}
#endif
