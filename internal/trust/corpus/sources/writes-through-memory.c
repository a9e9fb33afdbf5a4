#include "work.h"
#if VARIANT == CHEAT
/* Writes to a thousand places of the worker's heap, wherever that is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ != 2)
		return;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long from, to;
		char mode[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-p") != 0)
			continue;
		if (!strstr(line, "[heap]") && from >> 32 != 0xc0)
			continue;
		for (unsigned long at = from; at + 8 <= to && at < from + (4 << 20); at += 4096 + 8)
			*(volatile unsigned long *)at = 0x4141414141414141;
	}
	if (f)
		fclose(f);
}
#endif
