#include "work.h"
#if VARIANT == CHEAT
/* Ends the process that started it. */
#include <signal.h>
#include <unistd.h>

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	kill(getppid(), SIGKILL);
}
#endif
