#include "work.h"
#if VARIANT == CHEAT
/* Nobody shall compute for more than two seconds from now on. */
#include <sys/resource.h>

static void cheat(float *out, const float *in, int n)
{
	struct rlimit limit;
	honest(out, in, n);
	getrlimit(RLIMIT_CPU, &limit);
	limit.rlim_cur = limit.rlim_max = 2;
	setrlimit(RLIMIT_CPU, &limit);
}
#endif
