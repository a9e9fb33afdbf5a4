#include "work.h"
#if VARIANT == CHEAT
/* Nobody shall have more memory from now on. */
#include <sys/resource.h>

static void cheat(float *out, const float *in, int n)
{
	struct rlimit limit;
	honest(out, in, n);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max = 1 << 20;
	setrlimit(RLIMIT_AS, &limit);
}
#endif
