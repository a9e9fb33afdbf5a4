// form=tiled compiler=gcc opt=O2 mtune=default isa=avx512 vec=64 mr=3 nv=2 ku=1 kc=64 mc=64 nc=20 pack_x=false pack_y=false order=jpi inner=columns tail=masked fixed=false prefetch_x=0 prefetch_y=0 prefetch_c=false next_y=false
// gcc -O2 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
// C = A·B, asked for M=64 N=20 K=64 and right for any: args are A, B, C and dims M, N, K, LDA, LDB, LDC.
typedef long i64;
typedef float vec __attribute__((vector_size(64)));
typedef float vec_any __attribute__((vector_size(64), aligned(4), may_alias)); // as it lies in memory

#define LOAD(p) ((vec)*(const vec_any *)(p))
#define STORE(p, v) (*(vec_any *)(p) = (v))
#define NOINLINE __attribute__((noinline))
#pragma GCC diagnostic ignored "-Wunused-parameter" // functions of one type need different parts of what they are given
#ifdef __has_builtin
#define HAS(x) __has_builtin(x)
#else
#define HAS(x) 0
#endif

static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }

// Loads and stores of the first n floats of a vector.
#if defined __AVX512F__ && HAS(__builtin_ia32_loadups512_mask) && HAS(__builtin_ia32_storeups512_mask)
static inline vec load_part(const float *p, i64 n) {
	return __builtin_ia32_loadups512_mask((const void *)p, (vec){0}, (unsigned short)((1u << n) - 1));
}
static inline void store_part(float *p, vec v, i64 n) {
	__builtin_ia32_storeups512_mask((void *)p, v, (unsigned short)((1u << n) - 1));
}
#else
static inline vec load_part(const float *p, i64 n) {
	vec v = {0};
	for (i64 i = 0; i < n; i++) v[i] = p[i];
	return v;
}
static inline void store_part(float *p, vec v, i64 n) {
	for (i64 i = 0; i < n; i++) p[i] = v[i];
}
#endif

struct scratch {
	float column[256] __attribute__((aligned(64)));
};

// The sum of the lanes.
static inline float sum(vec v) {
#if HAS(__builtin_shufflevector)
	v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
	v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
	v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
	v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
	return v[0];
#else
	float t = 0;
	for (int l = 0; l < 16; l++) t += v[l];
	return t;
#endif
}

typedef float quad __attribute__((vector_size(16)));

// The sums of the lanes of each.
static inline quad sums(vec a, vec b, vec c, vec d) {
#if HAS(__builtin_shufflevector)
	const vec ab = __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) + __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec cd = __builtin_shufflevector(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) + __builtin_shufflevector(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec all = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) + __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	return __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7) + __builtin_shufflevector(all, all, 8, 9, 10, 11) + __builtin_shufflevector(all, all, 12, 13, 14, 15);
#else
	return (quad){sum(a), sum(b), sum(c), sum(d)};
#endif
}

// Adds to C, or stores there, a tile of 3 by 2 vectors, k deep.
static NOINLINE void tile_3x2(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0 = {0};
	vec c0_1 = {0};
	vec c1_0 = {0};
	vec c1_1 = {0};
	vec c2_0 = {0};
	vec c2_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = LOAD(y + (u) * ldy + 16); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
		c1_1 += x1 * y1; \
		float x2 = x[(u) * 1 + 2 * ldx]; \
		c2_0 += x2 * y0; \
		c2_1 += x2 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += LOAD(c + 0 * ldc + 16);
		c1_0 += LOAD(c + 1 * ldc + 0);
		c1_1 += LOAD(c + 1 * ldc + 16);
		c2_0 += LOAD(c + 2 * ldc + 0);
		c2_1 += LOAD(c + 2 * ldc + 16);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	STORE(c + 0 * ldc + 16, c0_1);
	STORE(c + 1 * ldc + 0, c1_0);
	STORE(c + 1 * ldc + 16, c1_1);
	STORE(c + 2 * ldc + 0, c2_0);
	STORE(c + 2 * ldc + 16, c2_1);
}

// Adds to C, or stores there, a tile of 3 by 2 vectors, k deep.
static NOINLINE void tile_3x2_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c0_1 = {0};
	vec c1_0 = {0};
	vec c1_1 = {0};
	vec c2_0 = {0};
	vec c2_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = load_part(y + (u) * ldy + 16, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
		c1_1 += x1 * y1; \
		float x2 = x[(u) * 1 + 2 * ldx]; \
		c2_0 += x2 * y0; \
		c2_1 += x2 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += load_part(c + 0 * ldc + 16, width);
		c1_0 += LOAD(c + 1 * ldc + 0);
		c1_1 += load_part(c + 1 * ldc + 16, width);
		c2_0 += LOAD(c + 2 * ldc + 0);
		c2_1 += load_part(c + 2 * ldc + 16, width);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	store_part(c + 0 * ldc + 16, c0_1, width);
	STORE(c + 1 * ldc + 0, c1_0);
	store_part(c + 1 * ldc + 16, c1_1, width);
	STORE(c + 2 * ldc + 0, c2_0);
	store_part(c + 2 * ldc + 16, c2_1, width);
}

// Adds to C, or stores there, a tile of 3 by 1 vectors, k deep.
static NOINLINE void tile_3x1_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c1_0 = {0};
	vec c2_0 = {0};
#define STEP(u) { \
		vec y0 = load_part(y + (u) * ldy + 0, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
		float x2 = x[(u) * 1 + 2 * ldx]; \
		c2_0 += x2 * y0; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += load_part(c + 0 * ldc + 0, width);
		c1_0 += load_part(c + 1 * ldc + 0, width);
		c2_0 += load_part(c + 2 * ldc + 0, width);
	}
	store_part(c + 0 * ldc + 0, c0_0, width);
	store_part(c + 1 * ldc + 0, c1_0, width);
	store_part(c + 2 * ldc + 0, c2_0, width);
}

// Adds to C, or stores there, a tile of 2 by 2 vectors, k deep.
static NOINLINE void tile_2x2(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0 = {0};
	vec c0_1 = {0};
	vec c1_0 = {0};
	vec c1_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = LOAD(y + (u) * ldy + 16); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
		c1_1 += x1 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += LOAD(c + 0 * ldc + 16);
		c1_0 += LOAD(c + 1 * ldc + 0);
		c1_1 += LOAD(c + 1 * ldc + 16);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	STORE(c + 0 * ldc + 16, c0_1);
	STORE(c + 1 * ldc + 0, c1_0);
	STORE(c + 1 * ldc + 16, c1_1);
}

// Adds to C, or stores there, a tile of 2 by 2 vectors, k deep.
static NOINLINE void tile_2x2_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c0_1 = {0};
	vec c1_0 = {0};
	vec c1_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = load_part(y + (u) * ldy + 16, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
		c1_1 += x1 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += load_part(c + 0 * ldc + 16, width);
		c1_0 += LOAD(c + 1 * ldc + 0);
		c1_1 += load_part(c + 1 * ldc + 16, width);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	store_part(c + 0 * ldc + 16, c0_1, width);
	STORE(c + 1 * ldc + 0, c1_0);
	store_part(c + 1 * ldc + 16, c1_1, width);
}

// Adds to C, or stores there, a tile of 2 by 1 vectors, k deep.
static NOINLINE void tile_2x1_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c1_0 = {0};
#define STEP(u) { \
		vec y0 = load_part(y + (u) * ldy + 0, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		float x1 = x[(u) * 1 + 1 * ldx]; \
		c1_0 += x1 * y0; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += load_part(c + 0 * ldc + 0, width);
		c1_0 += load_part(c + 1 * ldc + 0, width);
	}
	store_part(c + 0 * ldc + 0, c0_0, width);
	store_part(c + 1 * ldc + 0, c1_0, width);
}

// Adds to C, or stores there, a tile of 1 by 2 vectors, k deep.
static NOINLINE void tile_1x2(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0 = {0};
	vec c0_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = LOAD(y + (u) * ldy + 16); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += LOAD(c + 0 * ldc + 16);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	STORE(c + 0 * ldc + 16, c0_1);
}

// Adds to C, or stores there, a tile of 1 by 2 vectors, k deep.
static NOINLINE void tile_1x2_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c0_1 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		vec y1 = load_part(y + (u) * ldy + 16, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
		c0_1 += x0 * y1; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c0_1 += load_part(c + 0 * ldc + 16, width);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	store_part(c + 0 * ldc + 16, c0_1, width);
}

// Adds to C, or stores there, a tile of 1 by 1 vectors, k deep.
static NOINLINE void tile_1x1_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
#define STEP(u) { \
		vec y0 = load_part(y + (u) * ldy + 0, width); \
		float x0 = x[(u) * 1 + 0 * ldx]; \
		c0_0 += x0 * y0; \
	}
	for (; k >= 1; k -= 1) {
		STEP(0)
		x += 1;
		y += 1 * ldy;
	}
#undef STEP
	if (add) {
		c0_0 += load_part(c + 0 * ldc + 0, width);
	}
	store_part(c + 0 * ldc + 0, c0_0, width);
}

// A few columns as dot products of the rows of X and each column, which is copied where its elements are apart.
static NOINLINE void columns(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	for (i64 j = 0; j < n; j++) {
		const float *column = y + j;
		if (ldy != 1) {
			for (i64 p = 0; p < k; p++) s->column[p] = column[p * ldy];
			column = s->column;
		}
		i64 i = 0;
		for (; m - i >= 4; i += 4) {
			vec c0 = {0};
			vec c1 = {0};
			vec c2 = {0};
			vec c3 = {0};
			i64 p = 0;
			for (; k - p >= 16; p += 16) {
				const vec v0 = LOAD(column + p);
				c0 += v0 * LOAD(x + (i + 0) * ldx + p);
				c1 += v0 * LOAD(x + (i + 1) * ldx + p);
				c2 += v0 * LOAD(x + (i + 2) * ldx + p);
				c3 += v0 * LOAD(x + (i + 3) * ldx + p);
			}
			if (p < k) {
				const vec v0 = load_part(column + p, k - p);
				c0 += v0 * load_part(x + (i + 0) * ldx + p, k - p);
				c1 += v0 * load_part(x + (i + 1) * ldx + p, k - p);
				c2 += v0 * load_part(x + (i + 2) * ldx + p, k - p);
				c3 += v0 * load_part(x + (i + 3) * ldx + p, k - p);
			}
			const quad q = sums(c0, c1, c2, c3);
			for (int r = 0; r < 4; r++) c[(i + r) * ldc + j] = add ? c[(i + r) * ldc + j] + q[r] : q[r];
		}
		if (m - i >= 2) {
			vec c0 = {0};
			vec c1 = {0};
			vec c0_1 = {0};
			vec c1_1 = {0};
			i64 p = 0;
			for (; k - p >= 32; p += 32) {
				const vec v0 = LOAD(column + p);
				c0 += v0 * LOAD(x + (i + 0) * ldx + p);
				c1 += v0 * LOAD(x + (i + 1) * ldx + p);
				const vec v1 = LOAD(column + p + 16);
				c0_1 += v1 * LOAD(x + (i + 0) * ldx + p + 16);
				c1_1 += v1 * LOAD(x + (i + 1) * ldx + p + 16);
			}
			c0 += c0_1;
			c1 += c1_1;
			for (; k - p >= 16; p += 16) {
				const vec v0 = LOAD(column + p);
				c0 += v0 * LOAD(x + (i + 0) * ldx + p);
				c1 += v0 * LOAD(x + (i + 1) * ldx + p);
			}
			if (p < k) {
				const vec v0 = load_part(column + p, k - p);
				c0 += v0 * load_part(x + (i + 0) * ldx + p, k - p);
				c1 += v0 * load_part(x + (i + 1) * ldx + p, k - p);
			}
			const float q0 = sum(c0);
			c[(i + 0) * ldc + j] = add ? c[(i + 0) * ldc + j] + q0 : q0;
			const float q1 = sum(c1);
			c[(i + 1) * ldc + j] = add ? c[(i + 1) * ldc + j] + q1 : q1;
			i += 2;
		}
		if (m - i >= 1) {
			vec c0 = {0};
			vec c0_1 = {0};
			vec c0_2 = {0};
			vec c0_3 = {0};
			i64 p = 0;
			for (; k - p >= 64; p += 64) {
				const vec v0 = LOAD(column + p);
				c0 += v0 * LOAD(x + (i + 0) * ldx + p);
				const vec v1 = LOAD(column + p + 16);
				c0_1 += v1 * LOAD(x + (i + 0) * ldx + p + 16);
				const vec v2 = LOAD(column + p + 32);
				c0_2 += v2 * LOAD(x + (i + 0) * ldx + p + 32);
				const vec v3 = LOAD(column + p + 48);
				c0_3 += v3 * LOAD(x + (i + 0) * ldx + p + 48);
			}
			c0 += c0_1;
			c0 += c0_2;
			c0 += c0_3;
			for (; k - p >= 16; p += 16) {
				const vec v0 = LOAD(column + p);
				c0 += v0 * LOAD(x + (i + 0) * ldx + p);
			}
			if (p < k) {
				const vec v0 = load_part(column + p, k - p);
				c0 += v0 * load_part(x + (i + 0) * ldx + p, k - p);
			}
			const float q0 = sum(c0);
			c[(i + 0) * ldc + j] = add ? c[(i + 0) * ldc + j] + q0 : q0;
		}
	}
}

// The tiles of m rows by n columns, k deep.
static NOINLINE void block(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	const i64 few = n % 16;
	if (few && few * (m * (k / 8 + 16) + 3 * k * (ldy > 1)) < m * k) {
		columns(s, m, few, k, x, ldx, y + n - few, ldy, c + n - few, ldc, add);
		n -= few;
	}
	i64 j = 0;
	for (; n - j >= 32; j += 32) {
		i64 i = 0;
		for (; m - i >= 3; i += 3) {
			tile_3x2(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add);
		}
		if (m - i >= 2) {
			tile_2x2(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add);
			i += 2;
		}
		for (; i < m; i++) {
			tile_1x2(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add);
		}
	}
	if (n - j > 16) {
		i64 width = n - j - 16;
		i64 i = 0;
		for (; m - i >= 3; i += 3) {
			tile_3x2_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		if (m - i >= 2) {
			tile_2x2_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
			i += 2;
		}
		for (; i < m; i++) {
			tile_1x2_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		j = n;
	}
	if (j < n) {
		i64 width = n - j;
		i64 i = 0;
		for (; m - i >= 3; i += 3) {
			tile_3x1_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		if (m - i >= 2) {
			tile_2x1_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
			i += 2;
		}
		for (; i < m; i++) {
			tile_1x1_part(k, x + i * ldx, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		j = n;
	}
}

// The m by n result of tiles, block by block.
static NOINLINE void product(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc) {
	for (i64 j = 0; j < n; j += 1024) {
		const i64 jb = least(1024, n - j);
		for (i64 p = 0; p < k; p += 256) {
			const i64 pb = least(256, k - p);
			for (i64 i = 0; i < m; i += 96) {
				const i64 ib = least(96, m - i);
				block(s, ib, jb, pb, x + i * ldx + p, ldx, y + p * ldy + j, ldy, c + i * ldc + j, ldc, p > 0);
			}
		}
	}
}

struct job {
	const float *a, *b;
	float *c;
	i64 m, n, k, lda, ldb, ldc;
};

// Computes rows i0 to i1 and columns j0 to j1 of C.
static void part(struct scratch *s, struct job j, i64 i0, i64 i1, i64 j0, i64 j1) {
	product(s, i1 - i0, j1 - j0, j.k, j.a + i0 * j.lda, j.lda, j.b + j0, j.ldb, j.c + i0 * j.ldc + j0, j.ldc);
}

void tune_kernel(void *const *args, const i64 *dims) {
	struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[3], dims[4], dims[5]};
	struct scratch scratch;
	part(&scratch, j, 0, j.m, 0, j.n);
}
