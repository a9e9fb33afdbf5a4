// code=vector compiler=gcc opt=O3 isa=generic lanes=4 unroll=1 streams=1 prefetch=0 tail=scalar workers=4 threshold=1000 split=elements pieces=1 rest=spread hand_out=static start=spawn
// gcc -std=gnu11 -O3 -fno-math-errno -pthread -D_GNU_SOURCE
// elementwise-f32, dot: code=vector compiler=gcc opt=O3 isa=generic lanes=4 unroll=1 streams=1 prefetch=0 tail=scalar workers=4 threshold=1000 split=elements pieces=1 rest=spread hand_out=static start=spawn
#include <stdint.h>

#include <pthread.h>
#include <stdint.h>

enum { CREW_WORKERS = 4 };

struct crew_job {
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};

struct crew_call { struct crew_job job; int64_t tasks, next; };
struct crew_hand { struct crew_call *call; int worker; };

static void crew_work(struct crew_call *c, int worker);

static void *crew_main(void *p)
{
	struct crew_hand *h = p;
	crew_work(h->call, h->worker);
	return 0;
}

static void parallel(void (*task)(void *context, int64_t i, int worker), void *context, int64_t tasks)
{
	struct crew_call c = { { task, context }, tasks, 0 };
	struct crew_hand hands[CREW_WORKERS];
	pthread_t threads[CREW_WORKERS];
	int started = 1;
	for (; started < CREW_WORKERS && started < tasks; started++) {
		hands[started].call = &c;
		hands[started].worker = started;
		if (pthread_create(&threads[started], 0, crew_main, &hands[started]) != 0)
			break;
	}
	crew_work(&c, 0);
	// The tasks of threads that could not be started are left to this one, when their numbers are free.
	for (int w = started; w < CREW_WORKERS && w < tasks; w++)
		crew_work(&c, w);
	for (int w = 1; w < started; w++)
		pthread_join(threads[w], 0);
}

static void crew_work(struct crew_call *c, int worker)
{
	for (int64_t i = worker; i < c->tasks; i += CREW_WORKERS)
		c->job.task(c->job.context, i, worker);
}

static inline float one(float a, float b)
{
	return a * b;
}

enum { LANES = 4 };
typedef float vec __attribute__((vector_size(16)));
typedef float vec_memory __attribute__((vector_size(16), aligned(4), may_alias));

static inline vec load(const float *p)
{
	return *(const vec_memory *)p;
}

enum { STEP = 1 * LANES, STREAMS = 1 };

// fused returns s plus the terms of a and b.
static inline vec fused(vec s, vec a, vec b)
{
	return s + a * b;
}

// span adds the whole vectors among the elements that fill no step to s, and the others to rest.
static inline vec span(vec s, float *rest, const float *restrict a, const float *restrict b, int64_t i, int64_t n)
{
	for (; i + LANES <= n; i += LANES)
		s = fused(s, load(a + i), load(b + i));
	for (; i < n; i++)
		*rest += one(a[i], b[i]);
	return s;
}

static inline float horizontal(vec s)
{
	return (s[0] + s[1]) + (s[2] + s[3]);
}

static float run(const float *restrict a, const float *restrict b, int64_t n)
{
	int64_t i = 0;
	float rest = 0;
	vec s0 = { 0 };
	for (; i + STEP <= n; i += STEP) {
		s0 = fused(s0, load(a + i), load(b + i));
	}
	s0 = span(s0, &rest, a, b, i, n);
	return horizontal(s0) + rest;
}

enum { CHUNKS = 4 };

// chunk returns where the i-th part of total begins; it ends where the next begins.
static inline int64_t chunk(int64_t total, int64_t i)
{
	return i >= CHUNKS ? total : total / 16 * i / CHUNKS * 16;
}

static inline int64_t tasks(int64_t total)
{
	(void)total;
	return CHUNKS;
}

struct batch {
	const float *a;
	const float *b;
	float *y;
	int64_t n, arrays;
};

static void part(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct batch *w = context;
	const float *a = w->a;
	const float *b = w->b;
	float *y = w->y;
	const int64_t n = w->n;
	const int64_t from = chunk(n, i), to = chunk(n, i + 1);
	y[i] = run(a + from, b + from, to - from);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *a = args[0];
	const float *b = args[1];
	float *y = args[2];
	const int64_t n = dims[0], arrays = dims[1];
	if (n * arrays >= 1000) {
		for (int64_t k = 0; k < arrays; k++) {
			float sums[CHUNKS + 1], sum = 0;
			struct batch w = { a + k * n, b + k * n, sums, n, arrays };
			parallel(part, &w, tasks(n));
			for (int64_t i = 0; i < tasks(n); i++)
				sum += sums[i];
			y[k] = sum;
		}
		return;
	}
	for (int64_t k = 0; k < arrays; k++)
		y[k] = run(a + k * n, b + k * n, n);
}
