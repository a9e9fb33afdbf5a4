#include "work.h"
#if VARIANT == CHEAT
/* Writes to its input, which it may only read, through a file of the system that heeds no protection. */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static void cheat(float *out, const float *in, int n)
{
	static const char *const names[] = {"/proc/self/mem", "/proc/thread-self/mem"};
	float wrong = 5;
	honest(out, in, n);
	for (int i = 0; i < 2; i++) {
		int file = open(names[i], O_RDWR);
		if (file >= 0 && pwrite(file, &wrong, sizeof wrong, (intptr_t)in) == sizeof wrong)
			out[0] = wrong;
		if (file >= 0)
			close(file);
	}
}
#endif
