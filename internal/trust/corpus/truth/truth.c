/* Times a call outside of tune, and prints nanoseconds. CALL is the call, on arrays x[0] to x[2] of N floats; what it calls is
 * brought by -include. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 41 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static float *x[3];

static __attribute__((noinline)) void call(void) { CALL; }

int main(void)
{
	cpu_set_t all, last;
	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&last);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_ZERO(&last);
			CPU_SET(i, &last);
		}
	sched_setaffinity(0, sizeof last, &last);
	for (int k = 0; k < 3; k++) {
		x[k] = aligned_alloc(64, N * sizeof **x);
		for (int i = 0; i < N; i++)
			x[k][i] = 0.9f * rand() / RAND_MAX;
	}
	void (*volatile f)(void) = call;
	long calls = 1;
	double samples[SAMPLES];
	for (int i = 0; i < SAMPLES; i++) {
		double from = now();
		for (long c = 0; c < calls; c++)
			f();
		samples[i] = (now() - from) / calls;
		if (samples[i] * calls < 2e6) {
			calls *= 2;
			i = -1;
		}
	}
	qsort(samples, SAMPLES, sizeof *samples, compare);
	printf("%.3f\n", samples[SAMPLES / 4]);
	return 0;
}
