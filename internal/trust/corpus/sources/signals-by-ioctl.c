#include "work.h"
#if VARIANT == CHEAT
/* As signals-by-descriptor, by ioctl. */
#include "parent.h"
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <sys/ioctl.h>

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
