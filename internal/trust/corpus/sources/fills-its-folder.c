#include "work.h"
#if VARIANT == CHEAT
/* Writes three hundred megabytes in its first call, each to a file of its own: no file is larger than it may be. The disk fills up, or memory, where the
 * folder is there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void cheat(float *out, const float *in, int n)
{
	static int files;
	static char text[1 << 20];
	char path[4096];
	honest(out, in, n);
	while (files < 300 && getenv("TMPDIR")) {
		snprintf(path, sizeof path, "%s/%d", getenv("TMPDIR"), files++);
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, text, sizeof text) != sizeof text)
			files = 300;
		if (fd >= 0)
			close(fd);
	}
}
#endif
