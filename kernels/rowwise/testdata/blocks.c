// code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=1 together=1 prefetch=0 next=no workers=2 pieces=1 hand_out=static start=spawn
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx2 -mfma -pthread -D_GNU_SOURCE
// rowwise, rmsnorm-q8: code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=1 together=1 prefetch=0 next=no workers=2 pieces=1 hand_out=static start=spawn
#include <stdint.h>

#include <pthread.h>
#include <stdint.h>

enum { CREW_WORKERS = 2 };

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

struct call {
	const float *x;
	const float *w;
	uint8_t *y;
	int64_t rows, cols;
};

// half returns the bits of a half-precision float, the one nearest to d ≥ 0, or infinity.
static inline uint16_t half(float d)
{
	union { float f; uint32_t u; } v = { d }, least = { 0 };
	uint32_t exponent = (v.u + v.u) & 0xff000000u;
	if (exponent < 0x71000000u)
		exponent = 0x71000000u;
	// The sum is rounded where half precision ends, because the first term has 13 bits less after it.
	least.u = (exponent >> 1) + 0x07800000u;
	v.f = least.f + d * 0x1p112f * 0x1p-110f;
	return (uint16_t)(((v.u >> 13) & 0x7c00) + (v.u & 0xfff));
}

enum { LANES = 8 };
typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));

static inline vec load(const float *p)
{
	return *(const vec_memory *)p;
}

static inline vec splat(float x)
{
	return x - (vec){ 0 };
}

#if defined(__clang__)
#define SHUFFLE(a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#define SHUFFLE2(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, ...) __builtin_shuffle(a, (ivec){ __VA_ARGS__ })
#define SHUFFLE2(a, b, ...) __builtin_shuffle(a, b, (ivec){ __VA_ARGS__ })
#endif

// load_some loads the first lanes of a vector; the others are fill.
static inline vec load_some(const float *p, int64_t lanes, float fill)
{
	float some[LANES];
	for (int l = 0; l < LANES; l++)
		some[l] = l < lanes ? p[l] : fill;
	return load(some);
}

// wider returns the larger integers.
static inline ivec wider(ivec a, ivec b)
{
	__asm__("vpmaxsd %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
	return a;
}

enum { BLOCK = 32, BLOCK_BYTES = 34, PARTS = BLOCK / LANES };
typedef int8_t bytes __attribute__((vector_size(8)));
typedef int8_t bytes_memory __attribute__((vector_size(8), aligned(1), may_alias));

// quantise writes a block of Q8_0. The bits of floats that are not negative are in the order of the floats, with NaN above infinity.
static inline void quantise(uint8_t *q, const vec *v)
{
	ivec m = (ivec)v[0] & 0x7fffffff;
	for (int i = 1; i < PARTS; i++)
		m = wider(m, (ivec)v[i] & 0x7fffffff);
	m = wider(m, SHUFFLE(m, 4, 5, 6, 7, 0, 1, 2, 3));
	m = wider(m, SHUFFLE(m, 2, 3, 0, 1, 6, 7, 4, 5));
	m = wider(m, SHUFFLE(m, 1, 0, 3, 2, 5, 4, 7, 6));
	const vec all = (vec)m;
	const float largest = all[0], d = largest / 127, inverse = d > 0x1p-100f ? 127 / largest : 0;
	if (m[0] >= 0x7f800000) {
		const uint8_t none[BLOCK_BYTES] = { 0x00, 0x7e };
		__builtin_memcpy(q, none, BLOCK_BYTES);
		return;
	}
	const uint16_t bits = half(d);
	q[0] = (uint8_t)bits;
	q[1] = (uint8_t)(bits >> 8);
	for (int i = 0; i < PARTS; i++)
		*(bytes_memory *)(q + 2 + i * LANES) = __builtin_convertvector((ivec)(v[i] * inverse + 0x1.8p23f), bytes);
}

static inline float horizontal(vec s)
{
	typedef float vec4 __attribute__((vector_size(16), may_alias));
	const vec4 h4 = ((const vec4 *)&s)[0] + ((const vec4 *)&s)[1];
	return (h4[0] + h4[1]) + (h4[2] + h4[3]);
}

static void rows1(const struct call *c, int64_t row)
{
	const int64_t n = c->cols;
	const float *restrict x0 = c->x + row * n;
	const float *restrict w = c->w;
	int64_t i;
	vec total0 = { 0 };
	for (int64_t from = 0; from < n; from += 1024) {
		const int64_t to = n - from > 1024 ? from + 1024 : n;
		vec s0_0 = { 0 };
		i = from;
		for (; i + LANES <= to; i += LANES) {
			{
				const vec a = load(x0 + i);
				s0_0 += a * a;
			}
		}
		if (i < to) {
			{
				const vec a = load_some(x0 + i, to - i, 0.f);
				s0_0 += a * a;
			}
		}
		total0 += s0_0;
	}
	const float scale0 = 1.f / __builtin_sqrtf(horizontal(total0) / (float)n + 1e-5f);
	i = 0;
	for (; i < n; i += BLOCK) {
		{
			const vec v[PARTS] = {
				load(x0 + i) * scale0 * load(w + i),
				load(x0 + i + 1 * LANES) * scale0 * load(w + i + 1 * LANES),
				load(x0 + i + 2 * LANES) * scale0 * load(w + i + 2 * LANES),
				load(x0 + i + 3 * LANES) * scale0 * load(w + i + 3 * LANES),
			};
			quantise(c->y + ((row + 0) * n + i) / BLOCK * BLOCK_BYTES, v);
		}
	}
}

static void span(const struct call *c, int64_t from, int64_t to)
{
	int64_t row = from;
	for (; row < to; row++)
		rows1(c, row);
}

enum { CHUNKS = 2 };

static void part(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct call *c = context;
	span(c, c->rows * i / CHUNKS, c->rows * (i + 1) / CHUNKS);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { args[0], args[1], args[2], dims[0], dims[1] };
	parallel(part, &c, CHUNKS);
}
