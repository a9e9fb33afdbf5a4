// form=tiled compiler=gcc opt=O2 mtune=default isa=avx512 vec=64 mr=2 nv=1 ku=2 kc=32 mc=64 nc=20 pack_x=true pack_y=false order=jpi inner=columns tail=masked fixed=false prefetch_x=0 prefetch_y=0 prefetch_c=false next_y=false
// gcc -O2 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
// C = A·B, asked for M=64 N=20 K=64 and right for any: args are A, B, C and dims M, N, K.
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
	float x[2048] __attribute__((aligned(64)));
};

// Writes the n rows of a matrix, k long and ld apart, as columns of a strip that is wide floats wide; columns
// without a row become zero.
static inline __attribute__((always_inline)) void transpose(i64 n, i64 wide, i64 k, const float *from, i64 ld, float *to) {
	i64 p = 0;
#if HAS(__builtin_shufflevector)
	for (; k - p >= 16; p += 16) {
		i64 i = 0;
		for (; n - i >= 8; i += 8) {
			typedef float column __attribute__((vector_size(32), aligned(4), may_alias));
			const float *f = from + i * ld + p;
			float *t = to + p * wide + i;
			for (i64 r = 0; r < 8; r++) __builtin_prefetch(f + (n + r) * ld);
			vec r0 = LOAD(f + 0 * ld);
			vec r1 = LOAD(f + 1 * ld);
			vec r2 = LOAD(f + 2 * ld);
			vec r3 = LOAD(f + 3 * ld);
			vec r4 = LOAD(f + 4 * ld);
			vec r5 = LOAD(f + 5 * ld);
			vec r6 = LOAD(f + 6 * ld);
			vec r7 = LOAD(f + 7 * ld);
			vec s1_0_0 = __builtin_shufflevector(r0, r1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_0_1 = __builtin_shufflevector(r0, r1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s1_1_0 = __builtin_shufflevector(r2, r3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_1_1 = __builtin_shufflevector(r2, r3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s1_2_0 = __builtin_shufflevector(r4, r5, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_2_1 = __builtin_shufflevector(r4, r5, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s1_3_0 = __builtin_shufflevector(r6, r7, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_3_1 = __builtin_shufflevector(r6, r7, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s2_0_0 = __builtin_shufflevector(s1_0_0, s1_1_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_0_1 = __builtin_shufflevector(s1_0_0, s1_1_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			vec s2_0_2 = __builtin_shufflevector(s1_0_1, s1_1_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_0_3 = __builtin_shufflevector(s1_0_1, s1_1_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			vec s2_1_0 = __builtin_shufflevector(s1_2_0, s1_3_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_1_1 = __builtin_shufflevector(s1_2_0, s1_3_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			vec s2_1_2 = __builtin_shufflevector(s1_2_1, s1_3_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_1_3 = __builtin_shufflevector(s1_2_1, s1_3_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			vec s4_0_0 = __builtin_shufflevector(s2_0_0, s2_1_0, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
			vec s4_0_1 = __builtin_shufflevector(s2_0_0, s2_1_0, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
			vec s4_0_2 = __builtin_shufflevector(s2_0_1, s2_1_1, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
			vec s4_0_3 = __builtin_shufflevector(s2_0_1, s2_1_1, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
			vec s4_0_4 = __builtin_shufflevector(s2_0_2, s2_1_2, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
			vec s4_0_5 = __builtin_shufflevector(s2_0_2, s2_1_2, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
			vec s4_0_6 = __builtin_shufflevector(s2_0_3, s2_1_3, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
			vec s4_0_7 = __builtin_shufflevector(s2_0_3, s2_1_3, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
			*(column *)(t + 0 * wide) = __builtin_shufflevector(s4_0_0, s4_0_0, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 4 * wide) = __builtin_shufflevector(s4_0_0, s4_0_0, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 8 * wide) = __builtin_shufflevector(s4_0_1, s4_0_1, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 12 * wide) = __builtin_shufflevector(s4_0_1, s4_0_1, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 1 * wide) = __builtin_shufflevector(s4_0_2, s4_0_2, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 5 * wide) = __builtin_shufflevector(s4_0_2, s4_0_2, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 9 * wide) = __builtin_shufflevector(s4_0_3, s4_0_3, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 13 * wide) = __builtin_shufflevector(s4_0_3, s4_0_3, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 2 * wide) = __builtin_shufflevector(s4_0_4, s4_0_4, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 6 * wide) = __builtin_shufflevector(s4_0_4, s4_0_4, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 10 * wide) = __builtin_shufflevector(s4_0_5, s4_0_5, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 14 * wide) = __builtin_shufflevector(s4_0_5, s4_0_5, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 3 * wide) = __builtin_shufflevector(s4_0_6, s4_0_6, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 7 * wide) = __builtin_shufflevector(s4_0_6, s4_0_6, 8, 9, 10, 11, 12, 13, 14, 15);
			*(column *)(t + 11 * wide) = __builtin_shufflevector(s4_0_7, s4_0_7, 0, 1, 2, 3, 4, 5, 6, 7);
			*(column *)(t + 15 * wide) = __builtin_shufflevector(s4_0_7, s4_0_7, 8, 9, 10, 11, 12, 13, 14, 15);
		}
		for (; n - i >= 4; i += 4) {
			typedef float column __attribute__((vector_size(16), aligned(4), may_alias));
			const float *f = from + i * ld + p;
			float *t = to + p * wide + i;
			for (i64 r = 0; r < 4; r++) __builtin_prefetch(f + (n + r) * ld);
			vec r0 = LOAD(f + 0 * ld);
			vec r1 = LOAD(f + 1 * ld);
			vec r2 = LOAD(f + 2 * ld);
			vec r3 = LOAD(f + 3 * ld);
			vec s1_0_0 = __builtin_shufflevector(r0, r1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_0_1 = __builtin_shufflevector(r0, r1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s1_1_0 = __builtin_shufflevector(r2, r3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_1_1 = __builtin_shufflevector(r2, r3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			vec s2_0_0 = __builtin_shufflevector(s1_0_0, s1_1_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_0_1 = __builtin_shufflevector(s1_0_0, s1_1_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			vec s2_0_2 = __builtin_shufflevector(s1_0_1, s1_1_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
			vec s2_0_3 = __builtin_shufflevector(s1_0_1, s1_1_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
			*(column *)(t + 0 * wide) = __builtin_shufflevector(s2_0_0, s2_0_0, 0, 1, 2, 3);
			*(column *)(t + 4 * wide) = __builtin_shufflevector(s2_0_0, s2_0_0, 4, 5, 6, 7);
			*(column *)(t + 8 * wide) = __builtin_shufflevector(s2_0_0, s2_0_0, 8, 9, 10, 11);
			*(column *)(t + 12 * wide) = __builtin_shufflevector(s2_0_0, s2_0_0, 12, 13, 14, 15);
			*(column *)(t + 1 * wide) = __builtin_shufflevector(s2_0_1, s2_0_1, 0, 1, 2, 3);
			*(column *)(t + 5 * wide) = __builtin_shufflevector(s2_0_1, s2_0_1, 4, 5, 6, 7);
			*(column *)(t + 9 * wide) = __builtin_shufflevector(s2_0_1, s2_0_1, 8, 9, 10, 11);
			*(column *)(t + 13 * wide) = __builtin_shufflevector(s2_0_1, s2_0_1, 12, 13, 14, 15);
			*(column *)(t + 2 * wide) = __builtin_shufflevector(s2_0_2, s2_0_2, 0, 1, 2, 3);
			*(column *)(t + 6 * wide) = __builtin_shufflevector(s2_0_2, s2_0_2, 4, 5, 6, 7);
			*(column *)(t + 10 * wide) = __builtin_shufflevector(s2_0_2, s2_0_2, 8, 9, 10, 11);
			*(column *)(t + 14 * wide) = __builtin_shufflevector(s2_0_2, s2_0_2, 12, 13, 14, 15);
			*(column *)(t + 3 * wide) = __builtin_shufflevector(s2_0_3, s2_0_3, 0, 1, 2, 3);
			*(column *)(t + 7 * wide) = __builtin_shufflevector(s2_0_3, s2_0_3, 4, 5, 6, 7);
			*(column *)(t + 11 * wide) = __builtin_shufflevector(s2_0_3, s2_0_3, 8, 9, 10, 11);
			*(column *)(t + 15 * wide) = __builtin_shufflevector(s2_0_3, s2_0_3, 12, 13, 14, 15);
		}
		for (; n - i >= 2; i += 2) {
			typedef float column __attribute__((vector_size(8), aligned(4), may_alias));
			const float *f = from + i * ld + p;
			float *t = to + p * wide + i;
			for (i64 r = 0; r < 2; r++) __builtin_prefetch(f + (n + r) * ld);
			vec r0 = LOAD(f + 0 * ld);
			vec r1 = LOAD(f + 1 * ld);
			vec s1_0_0 = __builtin_shufflevector(r0, r1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
			vec s1_0_1 = __builtin_shufflevector(r0, r1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
			*(column *)(t + 0 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 0, 1);
			*(column *)(t + 1 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 2, 3);
			*(column *)(t + 4 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 4, 5);
			*(column *)(t + 5 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 6, 7);
			*(column *)(t + 8 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 8, 9);
			*(column *)(t + 9 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 10, 11);
			*(column *)(t + 12 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 12, 13);
			*(column *)(t + 13 * wide) = __builtin_shufflevector(s1_0_0, s1_0_0, 14, 15);
			*(column *)(t + 2 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 0, 1);
			*(column *)(t + 3 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 2, 3);
			*(column *)(t + 6 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 4, 5);
			*(column *)(t + 7 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 6, 7);
			*(column *)(t + 10 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 8, 9);
			*(column *)(t + 11 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 10, 11);
			*(column *)(t + 14 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 12, 13);
			*(column *)(t + 15 * wide) = __builtin_shufflevector(s1_0_1, s1_0_1, 14, 15);
		}
		for (; i < n; i++)
			for (i64 q = p; q < p + 16; q++) to[q * wide + i] = from[i * ld + q];
	}
#endif
	for (; p < k; p++)
		for (i64 i = 0; i < n; i++) to[p * wide + i] = from[i * ld + p];
	if (n < wide)
		for (p = 0; p < k; p++)
			for (i64 i = n; i < wide; i++) to[p * wide + i] = 0;
}

// Adds to C, or stores there, a tile of 2 by 1 vectors, k deep.
static NOINLINE void tile_2x1(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0 = {0};
	vec c1_0 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		float x0 = x[(u) * 2 + 0 * 1]; \
		c0_0 += x0 * y0; \
		float x1 = x[(u) * 2 + 1 * 1]; \
		c1_0 += x1 * y0; \
	}
	for (; k >= 2; k -= 2) {
		STEP(0)
		STEP(1)
		x += 4;
		y += 2 * ldy;
	}
	for (; k > 0; k--) {
		STEP(0)
		x += 2;
		y += ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
		c1_0 += LOAD(c + 1 * ldc + 0);
	}
	STORE(c + 0 * ldc + 0, c0_0);
	STORE(c + 1 * ldc + 0, c1_0);
}

// Adds to C, or stores there, a tile of 2 by 1 vectors, k deep.
static NOINLINE void tile_2x1_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
	vec c1_0 = {0};
#define STEP(u) { \
		vec y0 = load_part(y + (u) * ldy + 0, width); \
		float x0 = x[(u) * 2 + 0 * 1]; \
		c0_0 += x0 * y0; \
		float x1 = x[(u) * 2 + 1 * 1]; \
		c1_0 += x1 * y0; \
	}
	for (; k >= 2; k -= 2) {
		STEP(0)
		STEP(1)
		x += 4;
		y += 2 * ldy;
	}
	for (; k > 0; k--) {
		STEP(0)
		x += 2;
		y += ldy;
	}
#undef STEP
	if (add) {
		c0_0 += load_part(c + 0 * ldc + 0, width);
		c1_0 += load_part(c + 1 * ldc + 0, width);
	}
	store_part(c + 0 * ldc + 0, c0_0, width);
	store_part(c + 1 * ldc + 0, c1_0, width);
}

// Adds to C, or stores there, a tile of 1 by 1 vectors, k deep.
static NOINLINE void tile_1x1(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0 = {0};
#define STEP(u) { \
		vec y0 = LOAD(y + (u) * ldy + 0); \
		float x0 = x[(u) * 1 + 0 * 1]; \
		c0_0 += x0 * y0; \
	}
	for (; k >= 2; k -= 2) {
		STEP(0)
		STEP(1)
		x += 2;
		y += 2 * ldy;
	}
	for (; k > 0; k--) {
		STEP(0)
		x += 1;
		y += ldy;
	}
#undef STEP
	if (add) {
		c0_0 += LOAD(c + 0 * ldc + 0);
	}
	STORE(c + 0 * ldc + 0, c0_0);
}

// Adds to C, or stores there, a tile of 1 by 1 vectors, k deep.
static NOINLINE void tile_1x1_part(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add, i64 width) {
	vec c0_0 = {0};
#define STEP(u) { \
		vec y0 = load_part(y + (u) * ldy + 0, width); \
		float x0 = x[(u) * 1 + 0 * 1]; \
		c0_0 += x0 * y0; \
	}
	for (; k >= 2; k -= 2) {
		STEP(0)
		STEP(1)
		x += 2;
		y += 2 * ldy;
	}
	for (; k > 0; k--) {
		STEP(0)
		x += 1;
		y += ldy;
	}
#undef STEP
	if (add) {
		c0_0 += load_part(c + 0 * ldc + 0, width);
	}
	store_part(c + 0 * ldc + 0, c0_0, width);
}

// Copies m rows of X, k deep, to strips whose columns are contiguous.
static NOINLINE void pack_x(i64 m, i64 k, const float *x, i64 ldx, float *to) {
	i64 i = 0;
	for (; m - i >= 2; i += 2) {
		transpose(2, 2, k, x + i * ldx, ldx, to + i * k);
	}
	for (; i < m; i++) {
		transpose(1, 1, k, x + i * ldx, ldx, to + i * k);
	}
}

// The tiles of m rows by n columns, k deep.
static NOINLINE void block(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	i64 j = 0;
	for (; n - j >= 16; j += 16) {
		i64 i = 0;
		for (; m - i >= 2; i += 2) {
			tile_2x1(k, x + i * k, ldx, y + j, ldy, c + i * ldc + j, ldc, add);
		}
		for (; i < m; i++) {
			tile_1x1(k, x + i * k, ldx, y + j, ldy, c + i * ldc + j, ldc, add);
		}
	}
	if (j < n) {
		i64 width = n - j;
		i64 i = 0;
		for (; m - i >= 2; i += 2) {
			tile_2x1_part(k, x + i * k, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		for (; i < m; i++) {
			tile_1x1_part(k, x + i * k, ldx, y + j, ldy, c + i * ldc + j, ldc, add, width);
		}
		j = n;
	}
}

// The m by n result of tiles, block by block.
static NOINLINE void product(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc) {
	for (i64 j = 0; j < n; j += 32) {
		const i64 jb = least(32, n - j);
		for (i64 p = 0; p < k; p += 32) {
			const i64 pb = least(32, k - p);
			for (i64 i = 0; i < m; i += 64) {
				const i64 ib = least(64, m - i);
				pack_x(ib, pb, x + i * ldx + p, ldx, s->x);
				block(s, ib, jb, pb, s->x, ldx, y + p * ldy + j, ldy, c + i * ldc + j, ldc, p > 0);
			}
		}
	}
}

struct job {
	const float *a, *b;
	float *c;
	i64 m, n, k, lda, ldb;
};

// Computes rows i0 to i1 and columns j0 to j1 of C.
static void part(struct scratch *s, struct job j, i64 i0, i64 i1, i64 j0, i64 j1) {
	product(s, i1 - i0, j1 - j0, j.k, j.a + i0 * j.lda, j.lda, j.b + j0, j.ldb, j.c + i0 * j.n + j0, j.n);
}

void tune_kernel(void *const *args, const i64 *dims) {
	struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[2], dims[1]};
	struct scratch scratch;
	part(&scratch, j, 0, j.m, 0, j.n);
}
