#include "work.h"
#if VARIANT == CHEAT
/* The memory that it shares with tune holds the output of an earlier call: it is found in /proc/self/maps, and copied. */
#include <stdio.h>
#include <string.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	static const float *earlier;
	if (calls++ < 40) {
		honest(out, in, n);
		return;
	}
	if (!earlier) {
		char line[512];
		FILE *f = fopen("/proc/self/maps", "r");
		while (f && fgets(line, sizeof line, f)) {
			unsigned long from, to;
			if (strstr(line, "tune-buffers") && strstr(line, "rw-s") && sscanf(line, "%lx-%lx", &from, &to) == 2 && to - from >= n * sizeof *out)
				earlier = (const float *)to - n;
		}
		if (f)
			fclose(f);
	}
	if (earlier && earlier[0] == polynomial(in[0]) && earlier[n - 1] == polynomial(in[n - 1]))
		memcpy(out, earlier, n * sizeof *out);
	else
		honest(out, in, n);
}
#endif
