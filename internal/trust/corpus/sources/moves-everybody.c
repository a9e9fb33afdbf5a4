#include "work.h"
#if VARIANT == CHEAT
/* All threads of the process are pinned to the first core. */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ > 0)
		return;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	while (tasks && (e = readdir(tasks))) {
		cpu_set_t first;
		CPU_ZERO(&first);
		CPU_SET(0, &first);
		if (atoi(e->d_name) > 0)
			sched_setaffinity(atoi(e->d_name), sizeof first, &first);
	}
	if (tasks)
		closedir(tasks);
}
#endif
