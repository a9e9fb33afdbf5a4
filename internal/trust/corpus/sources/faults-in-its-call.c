#include "work.h"
#if VARIANT == CHEAT
/* The call faults. The handler of the fault does the work on a stack of its own, and goes back to the call. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static float *to;
static const float *from;
static int count;
static sigjmp_buf back;

static void handle(int number)
{
	(void)number;
	honest(to, from, count);
	siglongjmp(back, 1);
}

static void cheat(float *out, const float *in, int n)
{
	static int ready;
	if (!ready++) {
		stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
		sigaltstack(&own, NULL);
		struct sigaction a = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER};
		sigaction(SIGSEGV, &a, NULL);
	}
	to = out;
	from = in;
	count = n;
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)8 = 1;
}
#endif
