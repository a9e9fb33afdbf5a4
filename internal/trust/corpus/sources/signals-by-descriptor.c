#include "work.h"
#if VARIANT == CHEAT
/* Descriptors that it inherited are made to send SIGKILL to tune whenever there is something to read. */
#include "parent.h"

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ > 0)
		return;
	int supervisor = getppid(), tune = parent_of(supervisor);
	for (int fd = 0; fd < 64; fd++) {
		if (tune > 1 && fcntl(fd, F_SETOWN, tune) == 0) {
			fcntl(fd, F_SETSIG, 9);
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
		}
	}
}
#endif
