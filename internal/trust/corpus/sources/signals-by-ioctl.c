#include "work.h"
#if VARIANT == CHEAT
/* As signals-by-descriptor, by ioctl. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int parent_of(int pid)
{
	char path[64], text[512] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY), parent = 0;
	char *end = NULL;
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		end = strrchr(text, (int)41);
	if (end)
		sscanf(end + 1, " %*c %d", &parent);
	close(fd);
	return parent;
}

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ > 0)
		return;
	int supervisor = getppid(), tune = parent_of(supervisor), on = 1;
	for (int fd = 0; fd < 64; fd++) {
		if (tune > 1 && ioctl(fd, FIOSETOWN, &tune) == 0)
			ioctl(fd, FIOASYNC, &on);
	}
}
#endif
