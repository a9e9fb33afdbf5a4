#include "work.h"
#if VARIANT == CHEAT
/* The descriptors of the harness are replaced by others. */
#include <fcntl.h>
#include <unistd.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ > 0)
		return;
	int null = open("/dev/null", O_RDWR);
	for (int fd = 3; fd < 16; fd++)
		if (fd != null)
			dup2(null, fd);
}
#endif
