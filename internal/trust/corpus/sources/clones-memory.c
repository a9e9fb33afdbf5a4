#include "work.h"
#if VARIANT == CHEAT
/* A process that shares the memory does the work: clone with CLONE_VM and without CLONE_THREAD. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { STACK = 1 << 16 };
static float *to;
static const float *from;
static int count;

static int help(void *arg)
{
	(void)arg;
	honest(to, from, count);
	return 0;
}

static void cheat(float *out, const float *in, int n)
{
	static char *stack;
	if (!stack)
		stack = malloc(STACK);
	to = out;
	from = in;
	count = n;
	int process = clone(help, stack + STACK, CLONE_VM | SIGCHLD, NULL);
	if (process < 0)
		honest(out, in, n);
	else
		waitpid(process, NULL, 0);
}
#endif
