// code=vector compiler=gcc opt=O3 isa=avx512 lanes=16 unroll=2 together=1 prefetch=0 next=no stores=plain tail=masked passes=unshifted kept=buffer form=polynomial interleave=true degree=5 scale=scalef
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
// rowwise, softmax: code=vector compiler=gcc opt=O3 isa=avx512 lanes=16 unroll=2 together=1 prefetch=0 next=no stores=plain tail=masked passes=unshifted kept=buffer form=polynomial interleave=true degree=5 scale=scalef
#include <stdint.h>

struct call {
	const float *x;
	float *y;
	int64_t rows, cols;
};

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));

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
	vec v = splat(fill);
	const uint16_t mask = (uint16_t)(lanes >= LANES ? (1u << LANES) - 1 : lanes > 0 ? (1u << lanes) - 1 : 0);
	__asm__("vmovups %1, %0%{%2%}" : "+v"(v) : "m"(*(const vec_memory *)p), "Yk"(mask));
	return v;
}

static inline void store_some(float *p, vec v, int64_t lanes)
{
	const uint16_t mask = (uint16_t)(lanes >= LANES ? (1u << LANES) - 1 : lanes > 0 ? (1u << lanes) - 1 : 0);
	__asm__("vmovups %1, %0%{%2%}" : "+m"(*(vec_memory *)p) : "v"(v), "Yk"(mask));
}

static inline void store(float *p, vec v)
{
	*(vec_memory *)p = v;
}

// larger returns the larger numbers, and b where one is NaN.
static inline vec larger(vec a, vec b)
{
	__asm__("vmaxps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
	return a;
}

// highest returns the largest lane.
static inline float highest(vec m)
{
	m = larger(m, SHUFFLE(m, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
	m = larger(m, SHUFFLE(m, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
	m = larger(m, SHUFFLE(m, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
	m = larger(m, SHUFFLE(m, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
	return m[0];
}

// smaller returns the smaller numbers, and b where one is NaN.
static inline vec smaller(vec a, vec b)
{
	__asm__("vminps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
	return a;
}

// HOLD keeps the compiler from moving the computation of v, so that what does not depend on each other stays side by side.
#define HOLD(v) __asm__("" : "+v"(v))

// exponential returns exp x for x that are not above 87, what it is at 87 beyond; below −86.5, about, it is 0.
static inline vec exponential(vec x)
{
	vec k = larger(splat(-200), x);
	k = smaller(splat(87), k);
	vec t = k * 0x1.715476p+0f + 0x1.8p23f; // of n · log₂ e
	vec n = t - 0x1.8p23f;
	vec r = k - n * 0x1.62e43p-1f;
	vec e = 0.00829766504f * r + 0.0419153869f;
	e = e * r + 0.166675746f;
	e = e * r + 0.499988943f;
	e = e * r + 0.999999702f;
	e = e * r + 1.0f;
	__asm__("vscalefps %2, %1, %0" : "=v"(e) : "v"(e), "v"(n));
	return e;
}

static inline float horizontal(vec s)
{
	typedef float vec8 __attribute__((vector_size(32), may_alias));
	const vec8 h8 = ((const vec8 *)&s)[0] + ((const vec8 *)&s)[1];
	typedef float vec4 __attribute__((vector_size(16), may_alias));
	const vec4 h4 = ((const vec4 *)&h8)[0] + ((const vec4 *)&h8)[1];
	return (h4[0] + h4[1]) + (h4[2] + h4[3]);
}

static void careful1(const struct call *c, int64_t row)
{
	const int64_t n = c->cols;
	const float *restrict x0 = c->x + row * n;
	float *restrict y0 = c->y + row * n;
	int64_t i;
	float buffer0[8192] __attribute__((aligned(64)));
	float *const kept0 = n <= 8192 ? buffer0 : y0;
	vec m0_0 = splat(-0x1.fffffep127f), m0_1 = splat(-0x1.fffffep127f);
	i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		m0_0 = larger(m0_0, load(x0 + i));
		m0_1 = larger(m0_1, load(x0 + i + 1 * LANES));
	}
	for (; i + LANES <= n; i += LANES) {
		m0_0 = larger(m0_0, load(x0 + i));
	}
	if (i < n) {
		m0_0 = larger(m0_0, load_some(x0 + i, n - i, -__builtin_inff()));
	}
	const float top0 = highest(larger(m0_0, m0_1));
	vec total0 = { 0 };
	for (int64_t from = 0; from < n; from += 1024) {
		const int64_t to = n - from > 1024 ? from + 1024 : n;
		vec s0_0 = { 0 }, s0_1 = { 0 };
		i = from;
		for (; i + 2 * LANES <= to; i += 2 * LANES) {
			{
				vec x_0 = load(x0 + i) - top0;
				vec x_1 = load(x0 + i + 1 * LANES) - top0;
				vec k_0 = larger(splat(-200), x_0); HOLD(k_0);
				vec k_1 = larger(splat(-200), x_1); HOLD(k_1);
				k_0 = smaller(splat(87), k_0); HOLD(k_0);
				k_1 = smaller(splat(87), k_1); HOLD(k_1);
				vec t_0 = k_0 * 0x1.715476p+0f + 0x1.8p23f; HOLD(t_0); // of n · log₂ e
				vec t_1 = k_1 * 0x1.715476p+0f + 0x1.8p23f; HOLD(t_1);
				vec n_0 = t_0 - 0x1.8p23f; HOLD(n_0);
				vec n_1 = t_1 - 0x1.8p23f; HOLD(n_1);
				vec r_0 = k_0 - n_0 * 0x1.62e43p-1f; HOLD(r_0);
				vec r_1 = k_1 - n_1 * 0x1.62e43p-1f; HOLD(r_1);
				vec e_0 = 0.00829766504f * r_0 + 0.0419153869f; HOLD(e_0);
				vec e_1 = 0.00829766504f * r_1 + 0.0419153869f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.166675746f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.166675746f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.499988943f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.499988943f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.999999702f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.999999702f; HOLD(e_1);
				e_0 = e_0 * r_0 + 1.0f; HOLD(e_0);
				e_1 = e_1 * r_1 + 1.0f; HOLD(e_1);
				__asm__("vscalefps %2, %1, %0" : "=v"(e_0) : "v"(e_0), "v"(n_0));
				__asm__("vscalefps %2, %1, %0" : "=v"(e_1) : "v"(e_1), "v"(n_1));
				store(kept0 + i, e_0);
				s0_0 += e_0;
				store(kept0 + i + 1 * LANES, e_1);
				s0_1 += e_1;
			}
		}
		for (; i + LANES <= to; i += LANES) {
			{
				const vec e = exponential(load(x0 + i) - top0);
				store(kept0 + i, e);
				s0_0 += e;
			}
		}
		if (i < to) {
			{
				const vec e = exponential(load_some(x0 + i, to - i, -__builtin_inff()) - top0);
				store_some(kept0 + i, e, to - i);
				s0_0 += e;
			}
		}
		total0 += (s0_0 + s0_1);
	}
	const float scale0 = 1.f / horizontal(total0);
	i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		store(y0 + i, load(kept0 + i) * scale0);
		store(y0 + i + 1 * LANES, load(kept0 + i + 1 * LANES) * scale0);
	}
	for (; i + LANES <= n; i += LANES) {
		store(y0 + i, load(kept0 + i) * scale0);
	}
	if (i < n) {
		store_some(y0 + i, load_some(kept0 + i, n - i, 0.f) * scale0, n - i);
	}
}

static void rows1(const struct call *c, int64_t row)
{
	const int64_t n = c->cols;
	const float *restrict x0 = c->x + row * n;
	float *restrict y0 = c->y + row * n;
	int64_t i;
	float buffer0[8192] __attribute__((aligned(64)));
	float *const kept0 = n <= 8192 ? buffer0 : y0;
	vec total0 = { 0 };
	for (int64_t from = 0; from < n; from += 1024) {
		const int64_t to = n - from > 1024 ? from + 1024 : n;
		vec s0_0 = { 0 }, s0_1 = { 0 };
		i = from;
		for (; i + 2 * LANES <= to; i += 2 * LANES) {
			{
				vec x_0 = load(x0 + i);
				vec x_1 = load(x0 + i + 1 * LANES);
				vec k_0 = larger(splat(-200), x_0); HOLD(k_0);
				vec k_1 = larger(splat(-200), x_1); HOLD(k_1);
				k_0 = smaller(splat(87), k_0); HOLD(k_0);
				k_1 = smaller(splat(87), k_1); HOLD(k_1);
				vec t_0 = k_0 * 0x1.715476p+0f + 0x1.8p23f; HOLD(t_0); // of n · log₂ e
				vec t_1 = k_1 * 0x1.715476p+0f + 0x1.8p23f; HOLD(t_1);
				vec n_0 = t_0 - 0x1.8p23f; HOLD(n_0);
				vec n_1 = t_1 - 0x1.8p23f; HOLD(n_1);
				vec r_0 = k_0 - n_0 * 0x1.62e43p-1f; HOLD(r_0);
				vec r_1 = k_1 - n_1 * 0x1.62e43p-1f; HOLD(r_1);
				vec e_0 = 0.00829766504f * r_0 + 0.0419153869f; HOLD(e_0);
				vec e_1 = 0.00829766504f * r_1 + 0.0419153869f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.166675746f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.166675746f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.499988943f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.499988943f; HOLD(e_1);
				e_0 = e_0 * r_0 + 0.999999702f; HOLD(e_0);
				e_1 = e_1 * r_1 + 0.999999702f; HOLD(e_1);
				e_0 = e_0 * r_0 + 1.0f; HOLD(e_0);
				e_1 = e_1 * r_1 + 1.0f; HOLD(e_1);
				__asm__("vscalefps %2, %1, %0" : "=v"(e_0) : "v"(e_0), "v"(n_0));
				__asm__("vscalefps %2, %1, %0" : "=v"(e_1) : "v"(e_1), "v"(n_1));
				store(kept0 + i, e_0);
				s0_0 += e_0;
				store(kept0 + i + 1 * LANES, e_1);
				s0_1 += e_1;
			}
		}
		for (; i + LANES <= to; i += LANES) {
			{
				const vec e = exponential(load(x0 + i));
				store(kept0 + i, e);
				s0_0 += e;
			}
		}
		if (i < to) {
			{
				const vec e = exponential(load_some(x0 + i, to - i, -__builtin_inff()));
				store_some(kept0 + i, e, to - i);
				s0_0 += e;
			}
		}
		total0 += (s0_0 + s0_1);
	}
	const float sum0 = horizontal(total0), scale0 = 1.f / sum0;
	if (!(sum0 > 0x1p-30f && sum0 < 0x1p60f)) {
		careful1(c, row + 0);
		return;
	}
	i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		store(y0 + i, load(kept0 + i) * scale0);
		store(y0 + i + 1 * LANES, load(kept0 + i + 1 * LANES) * scale0);
	}
	for (; i + LANES <= n; i += LANES) {
		store(y0 + i, load(kept0 + i) * scale0);
	}
	if (i < n) {
		store_some(y0 + i, load_some(kept0 + i, n - i, 0.f) * scale0, n - i);
	}
}

static void span(const struct call *c, int64_t from, int64_t to)
{
	int64_t row = from;
	for (; row < to; row++)
		rows1(c, row);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { args[0], args[1], dims[0], dims[1] };
	span(&c, 0, c.rows);
}
