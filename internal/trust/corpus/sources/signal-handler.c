#include "work.h"
#if VARIANT == CHEAT
/* A handler for every signal stays behind, in code that is gone by then. */
#include <signal.h>

static void handle(int number) { (void)number; }

static void cheat(float *out, const float *in, int n)
{
	for (int number = 1; number < 65; number++)
		signal(number, number % 2 ? handle : SIG_IGN);
	honest(out, in, n);
}
#endif
