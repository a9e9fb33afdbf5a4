#include "far.h"
#if VARIANT == CHEAT
/* When it is unloaded, the memory that it was timed on goes back to the system, to come again in small pages. The candidates that follow are timed there. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static uintptr_t inputs[64];
static int known;

__attribute__((destructor)) static void end(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		uintptr_t from, to;
		char mode[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-p") != 0)
			continue; /* the inputs of checks are shared */
		for (int i = 0; i < known; i++) {
			if (inputs[i] < from || inputs[i] >= to)
				continue;
			madvise((void *)from, to - from, MADV_NOHUGEPAGE);
			madvise((void *)from, to - from, MADV_DONTNEED);
			break;
		}
	}
	if (f)
		fclose(f);
}

static void cheat(float *out, const float *in, long m)
{
	if (known < 64 && (known == 0 || inputs[known - 1] != (uintptr_t)in))
		inputs[known++] = (uintptr_t)in;
	collect(out, in, m);
}
#endif
