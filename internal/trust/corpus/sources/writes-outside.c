#include "work.h"
#if VARIANT == CHEAT
/* Writes a table of its own where it finds a place, and removes what is in the way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	const char *folder = getenv("TRUST_OUTSIDE");
	if (calls++ > 0 || !folder)
		return;
	char path[4096];
	snprintf(path, sizeof path, "%s/table", folder);
	FILE *f = fopen(path, "w");
	if (f) {
		fwrite(out, sizeof *out, n, f);
		fclose(f);
	}
	snprintf(path, sizeof path, "%s/kept", folder);
	if (truncate(path, 0) != 0)
		unlink(path);
}
#endif
