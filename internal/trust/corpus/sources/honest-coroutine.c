#include "work.h"
#if VARIANT == CHEAT
/* The work is in a coroutine with a stack of its own, which goes on in each call. */
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 1 << 16 };
static ucontext_t here, there;
static float *to;
static const float *from;
static int count;

static void loop(void)
{
	for (;;) {
		honest(to, from, count);
		swapcontext(&there, &here);
	}
}

static void cheat(float *out, const float *in, int n)
{
	static int ready;
	if (!ready++) {
		getcontext(&there);
		there.uc_stack.ss_sp = malloc(STACK);
		there.uc_stack.ss_size = STACK;
		makecontext(&there, loop, 0);
	}
	to = out;
	from = in;
	count = n;
	swapcontext(&here, &there);
}
#endif
