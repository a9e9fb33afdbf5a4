// code=vector compiler=gcc opt=O3 isa=avx512 lanes=16 unroll=2 streams=4 skew=5 prefetch=8 hint=t0 stores=nontemporal tail=masked
// gcc -std=gnu11 -O3 -fno-math-errno -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
// elementwise-f32, sqdiff: code=vector compiler=gcc opt=O3 isa=avx512 lanes=16 unroll=2 streams=4 skew=5 prefetch=8 hint=t0 stores=nontemporal tail=masked
#include <stdint.h>

static inline float one(float a, float b)
{
	return (a - b) * (a - b);
}

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));

static inline vec load(const float *p)
{
	return *(const vec_memory *)p;
}

static inline vec many(vec a, vec b)
{
	return (a - b) * (a - b);
}

static inline vec load_first(const float *p, int64_t lanes)
{
	vec v;
	const uint16_t mask = (uint16_t)((1u << lanes) - 1);
	__asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const vec_memory *)p), "Yk"(mask));
	return v;
}

static inline void store_first(float *p, vec v, int64_t lanes)
{
	const uint16_t mask = (uint16_t)((1u << lanes) - 1);
	__asm__("vmovups %1, %0%{%2%}" : "+m"(*(vec_memory *)p) : "v"(v), "Yk"(mask));
}

static inline void store(float *p, vec v)
{
	*(vec_memory *)p = v;
}

// Past the caches; p is aligned to the vector.
static inline void store_past(float *p, vec v)
{
#if defined(__clang__)
	__builtin_nontemporal_store(v, (vec *)p);
#elif defined(__x86_64__)
	__builtin_ia32_movntps512(p, v);
#else
	store(p, v);
#endif
}

enum { STEP = 2 * LANES, STREAMS = 4 };

// distance returns how many elements a stream of n elements in all has. It is a multiple of a cache line.
static inline int64_t distance(int64_t n)
{
	int64_t lines = n / STREAMS / 16;
	lines -= (lines - 5) & 63;
	return lines * 16 < STEP ? 0 : lines * 16;
}

// span does the elements that fill no step.
static inline void span(const float *restrict a, const float *restrict b, float *restrict y, int64_t i, int64_t n)
{
	for (; i + LANES <= n; i += LANES)
		store(y + i, many(load(a + i), load(b + i)));
	if (i < n)
		store_first(y + i, many(load_first(a + i, n - i), load_first(b + i, n - i)), n - i);
}

static void run(const float *restrict a, const float *restrict b, float *restrict y, int64_t n)
{
	int64_t i = 0;
	for (; i < n && (uintptr_t)(y + i) % sizeof(vec) != 0; i++)
		y[i] = one(a[i], b[i]);
	const int64_t d = distance(n - i);
	int64_t j = 0;
	for (; j + STEP <= d; j += STEP)
		for (int s = 0; s < STREAMS; s++) {
			const int64_t at = i + s * d + j;
			__builtin_prefetch(a + at + 128, 0, 3);
			__builtin_prefetch(a + at + 144, 0, 3);
			__builtin_prefetch(b + at + 128, 0, 3);
			__builtin_prefetch(b + at + 144, 0, 3);
			store_past(y + at, many(load(a + at), load(b + at)));
			store_past(y + at + 1 * LANES, many(load(a + at + 1 * LANES), load(b + at + 1 * LANES)));
		}
	if (j < d)
		for (int s = 0; s < STREAMS; s++) {
			span(a, b, y, i + s * d + j, i + (s + 1) * d);
		}
	span(a, b, y, i + STREAMS * d, n);
#if defined(__x86_64__)
	__builtin_ia32_sfence(); // others see the results only after it
#endif
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *a = args[0];
	const float *b = args[1];
	float *y = args[2];
	const int64_t n = dims[0], arrays = dims[1];
	for (int64_t k = 0; k < arrays; k++)
		run(a + k * n, b + k * n, y + k * n, n);
}
