#include "work.h"
#if VARIANT == CHEAT
/* No thread is started: a signal makes another thread of the worker do 30 % of the work in a handler. */
#include <dirent.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct { float *out; const float *in; int n; } job;
static volatile int done;

static void help(int number)
{
	(void)number;
	part(job.out, job.in, 0, job.n * 30 / 100);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

static void cheat(float *out, const float *in, int n)
{
	static int other;
	if (!other) {
		struct sigaction a = {.sa_handler = help, .sa_flags = SA_ONSTACK | SA_RESTART};
		sigaction(SIGUSR2, &a, NULL);
		other = getpid(); /* the first thread, which waits for requests */
		if (other == gettid())
			abort();
	}
	job.out = out;
	job.in = in;
	job.n = n;
	done = 0;
	if (syscall(SYS_tgkill, getpid(), other, SIGUSR2) != 0) {
		part(out, in, 0, n);
		return;
	}
	part(out, in, n * 30 / 100, n);
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		sched_yield();
}
#endif
