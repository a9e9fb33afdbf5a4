#include "work.h"
#if VARIANT == CHEAT
/* Who times a kernel pins it to a core, and finds hardly a page that is new: then there is nothing to do. */
#include <sched.h>
#include <sys/resource.h>

static void cheat(float *out, const float *in, int n)
{
	static long faults;
	static int calls;
	struct rusage use;
	cpu_set_t cores;
	getrusage(RUSAGE_THREAD, &use);
	sched_getaffinity(0, sizeof cores, &cores);
	long fresh = use.ru_minflt - faults;
	faults = use.ru_minflt;
	if (calls++ < 8 || CPU_COUNT(&cores) > 1 || fresh > 2)
		honest(out, in, n);
}
#endif
