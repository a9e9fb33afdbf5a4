#include "work.h"
#if VARIANT == CHEAT
/* All descriptors are closed, as a daemon does. */
#include <unistd.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ == 0)
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
}
#endif
