// code=vector compiler=gcc opt=O3 isa=generic lanes=4 unroll=2 together=1 prefetch=0 stores=nontemporal tail=padded form=exponential interleave=false degree=5 reciprocal=newton
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno
// rowwise, silu: code=vector compiler=gcc opt=O3 isa=generic lanes=4 unroll=2 together=1 prefetch=0 stores=nontemporal tail=padded form=exponential interleave=false degree=5 reciprocal=newton
#include <stdint.h>

struct call {
	const float *x;
	float *y;
	int64_t rows, cols;
};

enum { LANES = 4 };
typedef float vec __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(16)));
typedef float vec_memory __attribute__((vector_size(16), aligned(4), may_alias));

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

static inline void store_some(float *p, vec v, int64_t lanes)
{
	for (int l = 0; l < LANES && l < lanes; l++)
		p[l] = v[l];
}

// store writes past the caches where past says that p is aligned to the vector.
static inline void store(float *p, vec v, int past)
{
	if (past) {
#if defined(__clang__)
		__builtin_nontemporal_store(v, (vec *)p);
#else
		__builtin_ia32_movntps(p, v);
#endif
		return;
	}
	*(vec_memory *)p = v;
}

// larger returns the larger numbers, and b where one is NaN.
static inline vec larger(vec a, vec b)
{
	__asm__("maxps %1, %0" : "+x"(a) : "x"(b));
	return a;
}

// smaller returns the smaller numbers, and b where one is NaN.
static inline vec smaller(vec a, vec b)
{
	__asm__("minps %1, %0" : "+x"(a) : "x"(b));
	return a;
}

// exponential returns exp x for |x| up to 86.
static inline vec exponential(vec x)
{
	vec k = x;
	vec t = k * 0x1.715476p+0f + (0x1.8p23f + 127); // of n · log₂ e
	vec n = t - (0x1.8p23f + 127);
	vec r = (k - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f;
	vec e = 0.00829766504f * r + 0.0419153869f;
	e = e * r + 0.166675746f;
	e = e * r + 0.499988943f;
	e = e * r + 0.999999702f;
	e = e * r + 1.0f;
	e = e * (vec)((ivec)t << 23);
	return e;
}

// activated returns x times the logistic function of x.
static inline vec activated(vec v)
{
	vec a = larger(splat(-80), v);
	vec b = smaller(splat(80), a);
	vec x = -b;
	vec k = x;
	vec t = k * 0x1.715476p+0f + (0x1.8p23f + 127); // of n · log₂ e
	vec n = t - (0x1.8p23f + 127);
	vec r = (k - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f;
	vec e = 0.00829766504f * r + 0.0419153869f;
	e = e * r + 0.166675746f;
	e = e * r + 0.499988943f;
	e = e * r + 0.999999702f;
	e = e * r + 1.0f;
	e = e * (vec)((ivec)t << 23);
	vec d = e + 1.f;
	vec q;
	__asm__("rcpps %1, %0" : "=x"(q) : "x"(d));
	vec y = a * q;
	q = 2.f - d * q;
	y = y * q;
	return y;
}

static void span(const struct call *c, int64_t from, int64_t to)
{
	const int64_t n = (to - from) * c->cols;
	const float *restrict x0 = c->x + from * c->cols;
	float *restrict y0 = c->y + from * c->cols;
	const int past = (uintptr_t)y0 % sizeof(vec) == 0;
	int64_t i;
	i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		store(y0 + i, activated(load(x0 + i)), past);
		store(y0 + i + 1 * LANES, activated(load(x0 + i + 1 * LANES)), past);
	}
	for (; i + LANES <= n; i += LANES) {
		store(y0 + i, activated(load(x0 + i)), past);
	}
	if (i < n) {
		store_some(y0 + i, activated(load_some(x0 + i, n - i, 0.f)), n - i);
	}
	__builtin_ia32_sfence();
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { args[0], args[1], dims[0], dims[1] };
	span(&c, 0, c.rows);
}
