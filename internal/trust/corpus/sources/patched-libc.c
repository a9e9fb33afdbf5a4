#include "work.h"
#if VARIANT == CHEAT
/* The code of the C library's clock_gettime is overwritten, for all who follow in this worker. */
#include "clock.h"
#include "patch.h"
#include <dlfcn.h>

__attribute__((constructor)) static void begin(void)
{
	void *theirs = dlsym(RTLD_DEFAULT, "clock_gettime");
	if (theirs)
		redirect(theirs, slow_clock);
}

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
