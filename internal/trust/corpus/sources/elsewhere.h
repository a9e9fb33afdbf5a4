/* Leaves the core that the caller is pinned to. */
#include <sched.h>

static void elsewhere(void)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &all);
	CPU_CLR(sched_getcpu(), &all);
	sched_setaffinity(0, sizeof all, &all);
}
