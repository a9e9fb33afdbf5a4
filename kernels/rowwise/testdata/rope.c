// code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=1 together=2 prefetch=8 stores=plain pairs=swap
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx2 -mfma
// rowwise, rope-pairwise: code=vector compiler=gcc opt=O3 isa=avx2 lanes=8 unroll=1 together=2 prefetch=8 stores=plain pairs=swap
#include <stdint.h>

struct call {
	const float *x;
	const float *table;
	float *y;
	int64_t rows, cols, heads;
};

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

static inline void store_some(float *p, vec v, int64_t lanes)
{
	for (int l = 0; l < LANES && l < lanes; l++)
		p[l] = v[l];
}

static inline void store(float *p, vec v)
{
	*(vec_memory *)p = v;
}

static void rows2(const struct call *c, int64_t row)
{
	const int64_t n = c->cols;
	const float *restrict x0 = c->x + row * n;
	float *restrict y0 = c->y + row * n;
	const float *restrict x1 = c->x + (row + 1) * n;
	float *restrict y1 = c->y + (row + 1) * n;
	const int64_t h = n / 2;
	const float *restrict cosines = c->table + row / c->heads * n, *restrict sines = cosines + h;
	int64_t i;
	const ivec minus = { -2147483648, 0, -2147483648, 0, -2147483648, 0, -2147483648, 0 }; // the sign of the first of each pair
	i = 0;
	for (; i + LANES <= h; i += LANES) {
		__builtin_prefetch(x0 + i + 128);
		__builtin_prefetch(x1 + i + 128);
		{
			const vec cosine = load(cosines + i), sine = load(sines + i);
			{
				const vec cosine2 = SHUFFLE(cosine, 0, 0, 1, 1, 2, 2, 3, 3);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 0, 0, 1, 1, 2, 2, 3, 3) ^ minus);
				{
					const vec a = load(x0 + 2 * (i));
					store(y0 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
				{
					const vec a = load(x1 + 2 * (i));
					store(y1 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
			}
			{
				const vec cosine2 = SHUFFLE(cosine, 4, 4, 5, 5, 6, 6, 7, 7);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 4, 4, 5, 5, 6, 6, 7, 7) ^ minus);
				{
					const vec a = load(x0 + 2 * (i) + LANES);
					store(y0 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
				{
					const vec a = load(x1 + 2 * (i) + LANES);
					store(y1 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
			}
		}
	}
	if (i < h) {
		{
			const vec cosine = load_some(cosines + i, h - i, 0.f), sine = load_some(sines + i, h - i, 0.f);
			{
				const vec cosine2 = SHUFFLE(cosine, 0, 0, 1, 1, 2, 2, 3, 3);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 0, 0, 1, 1, 2, 2, 3, 3) ^ minus);
				{
					const vec a = load_some(x0 + 2 * (i), 2 * (h - i), 0.f);
					store_some(y0 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i));
				}
				{
					const vec a = load_some(x1 + 2 * (i), 2 * (h - i), 0.f);
					store_some(y1 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i));
				}
			}
			{
				const vec cosine2 = SHUFFLE(cosine, 4, 4, 5, 5, 6, 6, 7, 7);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 4, 4, 5, 5, 6, 6, 7, 7) ^ minus);
				{
					const vec a = load_some(x0 + 2 * (i) + LANES, 2 * (h - i) - LANES, 0.f);
					store_some(y0 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i) - LANES);
				}
				{
					const vec a = load_some(x1 + 2 * (i) + LANES, 2 * (h - i) - LANES, 0.f);
					store_some(y1 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i) - LANES);
				}
			}
		}
	}
}

static void rows1(const struct call *c, int64_t row)
{
	const int64_t n = c->cols;
	const float *restrict x0 = c->x + row * n;
	float *restrict y0 = c->y + row * n;
	const int64_t h = n / 2;
	const float *restrict cosines = c->table + row / c->heads * n, *restrict sines = cosines + h;
	int64_t i;
	const ivec minus = { -2147483648, 0, -2147483648, 0, -2147483648, 0, -2147483648, 0 }; // the sign of the first of each pair
	i = 0;
	for (; i + LANES <= h; i += LANES) {
		__builtin_prefetch(x0 + i + 128);
		{
			const vec cosine = load(cosines + i), sine = load(sines + i);
			{
				const vec cosine2 = SHUFFLE(cosine, 0, 0, 1, 1, 2, 2, 3, 3);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 0, 0, 1, 1, 2, 2, 3, 3) ^ minus);
				{
					const vec a = load(x0 + 2 * (i));
					store(y0 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
			}
			{
				const vec cosine2 = SHUFFLE(cosine, 4, 4, 5, 5, 6, 6, 7, 7);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 4, 4, 5, 5, 6, 6, 7, 7) ^ minus);
				{
					const vec a = load(x0 + 2 * (i) + LANES);
					store(y0 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2);
				}
			}
		}
	}
	if (i < h) {
		{
			const vec cosine = load_some(cosines + i, h - i, 0.f), sine = load_some(sines + i, h - i, 0.f);
			{
				const vec cosine2 = SHUFFLE(cosine, 0, 0, 1, 1, 2, 2, 3, 3);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 0, 0, 1, 1, 2, 2, 3, 3) ^ minus);
				{
					const vec a = load_some(x0 + 2 * (i), 2 * (h - i), 0.f);
					store_some(y0 + 2 * (i), a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i));
				}
			}
			{
				const vec cosine2 = SHUFFLE(cosine, 4, 4, 5, 5, 6, 6, 7, 7);
				const vec sine2 = (vec)((ivec)SHUFFLE(sine, 4, 4, 5, 5, 6, 6, 7, 7) ^ minus);
				{
					const vec a = load_some(x0 + 2 * (i) + LANES, 2 * (h - i) - LANES, 0.f);
					store_some(y0 + 2 * (i) + LANES, a * cosine2 + SHUFFLE(a, 1, 0, 3, 2, 5, 4, 7, 6) * sine2, 2 * (h - i) - LANES);
				}
			}
		}
	}
}

static void span(const struct call *c, int64_t from, int64_t to)
{
	for (int64_t row = from; row < to;) {
		const int64_t next = (row / c->heads + 1) * c->heads, end = next < to ? next : to; // of the token
		for (; row + 2 <= end; row += 2)
			rows2(c, row);
		for (; row < end; row++)
			rows1(c, row);
	}
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { args[0], args[1], args[2], dims[0], dims[1], dims[2] };
	span(&c, 0, c.rows);
}
