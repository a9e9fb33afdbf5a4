package worker

// TimingC is the timing loop. It is appended to each candidate's translation unit, in C and in C++ alike, so that
// the calls run without Go between them. It needs no header, leaves no macro, and calls the kernel through a
// pointer that the compiler cannot see through: neither inlining nor hoisting can shorten the loop.
//
// The layout of struct tune_timing is that of the Go type timing.
const TimingC = `
#ifdef __cplusplus
extern "C" {
#endif
struct tune_timespec { long tune_sec; long tune_nsec; };
struct tune_timing {
	void (*tune_call)(void *const *, const __INT64_TYPE__ *);
	void *const *tune_sets;
	const __INT64_TYPE__ *tune_dims;
	__INT64_TYPE__ tune_nsets, tune_nargs, tune_first, tune_calls, tune_clock;
	double tune_seconds;
};
extern int tune_clock_gettime(int, struct tune_timespec *) __asm__("clock_gettime");
__attribute__((visibility("default"), noinline)) void tune_time(struct tune_timing *tune_t)
{
	struct tune_timespec tune_begin, tune_end;
	void (*volatile tune_call)(void *const *, const __INT64_TYPE__ *) = tune_t->tune_call;
	void *const *tune_sets = tune_t->tune_sets;
	const __INT64_TYPE__ *tune_dims = tune_t->tune_dims;
	__INT64_TYPE__ tune_nsets = tune_t->tune_nsets, tune_nargs = tune_t->tune_nargs;
	__INT64_TYPE__ tune_set = tune_t->tune_first, tune_i, tune_calls = tune_t->tune_calls;
	tune_clock_gettime((int)tune_t->tune_clock, &tune_begin);
	for (tune_i = 0; tune_i < tune_calls; tune_i++) {
		tune_call(tune_sets + tune_set * tune_nargs, tune_dims);
		__asm__ __volatile__("" ::: "memory");
		if (++tune_set == tune_nsets)
			tune_set = 0;
	}
	tune_clock_gettime((int)tune_t->tune_clock, &tune_end);
	tune_t->tune_first = tune_set;
	tune_t->tune_seconds = (double)(tune_end.tune_sec - tune_begin.tune_sec)
		+ (double)(tune_end.tune_nsec - tune_begin.tune_nsec) * 1e-9;
}
#ifdef __cplusplus
}
#endif
`
