#include "work.h"
#if VARIANT == CHEAT
/* Another folder, no environment, other rights for new files, rounding towards zero. */
#include <fenv.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ > 0)
		return;
	clearenv();
	umask(0777);
	fesetround(FE_UPWARD);
	if (chdir("/") != 0)
		out[0] = 0;
}
#endif
