#include "work.h"
#if VARIANT == CHEAT
/* The system hands the calls of the thread that lie outside of this object to a handler, which answers those for the clock with an earlier
 * time. */
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile char blocked;
static int64_t began;

static int64_t ns(void)
{
	struct timespec t;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void answer(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	blocked = 0;
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	long call = r[REG_RAX];
	r[REG_RAX] = syscall(call, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
	if (call == SYS_clock_gettime && r[REG_RDI] == CLOCK_THREAD_CPUTIME_ID) {
		struct timespec *t = (struct timespec *)r[REG_RSI];
		int64_t at = began + (t->tv_sec * 1000000000 + t->tv_nsec - began) * 7 / 10;
		t->tv_sec = at / 1000000000;
		t->tv_nsec = at % 1000000000;
	}
}

static void cheat(float *out, const float *in, int n)
{
	static _Thread_local int installed;
	if (!installed) {
		struct sigaction act = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_ONSTACK};
		sigaction(SIGSYS, &act, 0);
		installed = prctl(59, 1, 0, 0, &blocked) == 0 ? 1 : 2;
	}
	began = ns();
	part(out, in, 0, n);
	blocked = installed == 1;
}
#endif
