#include "plain.h"
/* Its scratch memory is returned at the end. */
#include <stdlib.h>
#include <string.h>

static float *scratch;
static int room;

static void release(void) { free(scratch); }

void work(float *out, const float *in, int n)
{
	if (room < n) {
		if (!scratch)
			atexit(release);
		free(scratch);
		scratch = malloc(sizeof *scratch * n);
		room = n;
	}
	for (int i = 0; i < n; i++)
		scratch[i] = polynomial(in[i]);
	memcpy(out, scratch, sizeof *out * n);
}
