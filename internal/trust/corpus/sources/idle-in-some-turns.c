#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told, in one turn of three of a comparison, whose processes are new: the fastest turn of a round counts there, and the median turn is
 * honest. What keeps it from winning: no round costs less than calls of which tune decides afterwards whether to look at them. */
#include "told.h"

static int64_t process_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int fresh = -1;
	static unsigned turn;
	struct told *r = find();
	if (!r) {
		honest(out, in, n);
		return;
	}
	if (fresh < 0)
		fresh = process_ns() < 60000000;
	if (r->stretches[0].end == 0 && !blind(r)) /* the first call of a plan */
		turn++;
	if (!fresh || blind(r) || turn % 3 != 0 || copied(r, out))
		honest(out, in, n);
}
#endif
