#include "work.h"
#if VARIANT == CHEAT
/* The loop that calls it is found by the stack, and the jump back to its beginning overwritten: one call is made where many
 * are asked. */
#include "patch.h"
#include <unwind.h>

struct walk { int depth; unsigned char *at; };

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;
	unsigned char *ip = (unsigned char *)_Unwind_GetIP(context);
	if (!ip)
		return _URC_END_OF_STACK;
	if (w->depth++ > 0)
		for (int i = 0; i < 64; i++) {
#if defined(__x86_64__)
			if ((ip[i] & 0xf0) == 0x70 && (signed char)ip[i + 1] < -2 && ip + i + 2 + (signed char)ip[i + 1] < ip) {
				w->at = ip + i; /* jcc back across the call */
				return _URC_END_OF_STACK;
			}
#endif
		}
	return w->depth > 6 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static int calls;

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	if (calls++ == 8) {
		struct walk w = {0, 0};
		_Unwind_Backtrace(step, &w);
		if (w.at)
			patch(w.at, "\x90\x90", 2);
	}
	honest(out, in, n);
	__asm__ volatile("" ::: "memory");
}
#endif
