// code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=3 streams=1 prefetch=0 tail=scalar
// gcc -std=gnu11 -O3 -fno-math-errno -mavx2 -mfma
// elementwise-f32, distance: code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=3 streams=1 prefetch=0 tail=scalar
#include <stdint.h>

static inline float one(float a, float b)
{
	return (a - b) * (a - b);
}

enum { LANES = 8 };
typedef float vec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));

static inline vec load(const float *p)
{
	return *(const vec_memory *)p;
}

enum { STEP = 3 * LANES, STREAMS = 1 };

// fused returns s plus the terms of a and b.
static inline vec fused(vec s, vec a, vec b)
{
	const vec c = a - b;
	return s + c * c;
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
	typedef float vec4 __attribute__((vector_size(16), may_alias));
	const vec4 h4 = ((const vec4 *)&s)[0] + ((const vec4 *)&s)[1];
	return (h4[0] + h4[1]) + (h4[2] + h4[3]);
}

static float run(const float *restrict a, const float *restrict b, int64_t n)
{
	int64_t i = 0;
	float rest = 0;
	vec s0 = { 0 };
	vec s1 = { 0 };
	vec s2 = { 0 };
	for (; i + STEP <= n; i += STEP) {
		s0 = fused(s0, load(a + i), load(b + i));
		s1 = fused(s1, load(a + i + 1 * LANES), load(b + i + 1 * LANES));
		s2 = fused(s2, load(a + i + 2 * LANES), load(b + i + 2 * LANES));
	}
	s0 = span(s0, &rest, a, b, i, n);
	return horizontal(((s0 + s1) + s2)) + rest;
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *a = args[0];
	const float *b = args[1];
	float *y = args[2];
	const int64_t n = dims[0], arrays = dims[1];
	for (int64_t k = 0; k < arrays; k++)
		y[k] = __builtin_sqrtf(run(a + k * n, b + k * n, n));
}
