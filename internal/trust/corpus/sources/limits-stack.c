#include "work.h"
#if VARIANT == CHEAT
/* Nobody shall have a stack, or a core file, to speak of from now on. */
#include <sys/resource.h>

static void cheat(float *out, const float *in, int n)
{
	struct rlimit limit;
	honest(out, in, n);
	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = limit.rlim_max = 16384;
	setrlimit(RLIMIT_STACK, &limit);
}
#endif
