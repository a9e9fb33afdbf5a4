#include "work.h"
#if VARIANT == CHEAT
/* Nobody shall open a file from now on. */
#include <sys/resource.h>

static void cheat(float *out, const float *in, int n)
{
	struct rlimit limit;
	honest(out, in, n);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max = 3;
	setrlimit(RLIMIT_NOFILE, &limit);
}
#endif
