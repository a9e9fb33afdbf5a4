// form=online compiler=gcc opt=O3 isa=avx512 lanes=16 key_tile=128 rows=4 keys=panels vectors=2 values=panels columns=3 unroll=2 degree=4 packing=tile query_tile=64
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma
// attention over f32 keys and values: form=online compiler=gcc opt=O3 isa=avx512 lanes=16 key_tile=128 rows=4 keys=panels vectors=2 values=panels columns=3 unroll=2 degree=4 packing=tile query_tile=64
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD = 64,   // numbers of a query, key or value
	GROUP = 1, // query heads of a kv head
	LANES = 16,
	ROWS = 4,          // of a micro-tile; a row is a query of one head
	TILE_ROWS = 64, // of a tile
	TILE_KEYS = 128,
	TOGETHER = 1, // query heads that are tiled together
	UNITS = 1,       // sets of such heads of a kv head
	PANEL = 32, // keys
	LD = TILE_KEYS + 16, // distance of rows of scores
};

// Queries are multiplied by this. The scores are then logarithms to base 2.
static const float factor = 0x1.715476p-03f;

typedef float kv; // an element of keys and values, f32

enum { SCRATCH_PAGE = 4096, SCRATCH_KEPT = 64 };
static char *scratch_kept[SCRATCH_KEPT]; // blocks that no call has; the size of each stands in a page before it

// What is small is on the stack of a call.
struct scratch_small {
	char bytes[4096] __attribute__((aligned(64)));
};

// reserve returns memory of at least so many bytes, aligned to a cache line, for give_back. What it holds is arbitrary. small may be 0.
static void *reserve(struct scratch_small *small, int64_t bytes)
{
	if (small && bytes <= (int64_t)sizeof *small)
		return small;
	char *block = 0;
	for (int i = 0; i < SCRATCH_KEPT && !block; i++)
		if (__atomic_load_n(&scratch_kept[i], __ATOMIC_RELAXED))
			block = __atomic_exchange_n(&scratch_kept[i], (char *)0, __ATOMIC_ACQUIRE);
	if (!block || *(int64_t *)block < bytes) {
		free(block);
		const int64_t size = (bytes + SCRATCH_PAGE - 1) / SCRATCH_PAGE * SCRATCH_PAGE;
		block = aligned_alloc(SCRATCH_PAGE, SCRATCH_PAGE + size);
		if (!block)
			abort();
		*(int64_t *)block = size;
	}
	return block + SCRATCH_PAGE;
}

// give_back keeps what reserve returned for a later call.
static void give_back(struct scratch_small *small, void *memory)
{
	if (memory == small)
		return;
	char *block = (char *)memory - SCRATCH_PAGE;
	for (int i = 0; i < SCRATCH_KEPT; i++) {
		char *none = 0;
		if (!__atomic_load_n(&scratch_kept[i], __ATOMIC_RELAXED) &&
			__atomic_compare_exchange_n(&scratch_kept[i], &none, block, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
	free(block);
}

__attribute__((destructor)) static void scratch_free(void)
{
	for (int i = 0; i < SCRATCH_KEPT; i++)
		free(scratch_kept[i]);
}


typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));

#define LOAD(p) ((vec)*(const vec_memory *)(p))
#define STORE(p, v) (*(vec_memory *)(p) = (v))
#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define MIX(a, b, ...) __builtin_shuffle(a, b, (ivec){ __VA_ARGS__ })
#endif

static inline int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

// widen returns a vector of keys or values as floats.
static inline vec widen(const kv *p)
{
	return LOAD(p);
}

// larger returns the larger of two numbers in each lane.
static inline vec larger(vec a, vec b)
{
#if defined(__x86_64__)
	vec y;
	__asm__("vmaxps %2, %1, %0" : "=v"(y) : "v"(a), "v"(b));
	return y;
#else
	const ivec first = a > b;
	return (vec)(((ivec)a & first) | ((ivec)b & ~first));
#endif
}

// all_largest and all_sum return the largest lane and the sum of all lanes, in each lane.
static inline vec all_largest(vec v)
{
	v = larger(v, MIX(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
	v = larger(v, MIX(v, v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3));
	v = larger(v, MIX(v, v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1));
	v = larger(v, MIX(v, v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0));
	return v;
}

static inline vec all_sum(vec v)
{
	v += MIX(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
	v += MIX(v, v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
	v += MIX(v, v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
	v += MIX(v, v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
	return v;
}

static inline float widen_one(kv x)
{
	return x;
}

// 2 to the power of x, which is at most 0: 2^n times a polynomial in x - n, which is off by 3e-06 of it.
static inline vec power(vec x)
{
	x = larger(x, (vec){ 0 } + -120.0f);
	const vec t = x + 0x1.8p23f; // the integer is in the low bits
	const vec f = x - (t - 0x1.8p23f);
	const vec y = ((((0x1.3997d6p-07f) * f + 0x1.ca144p-05f) * f + 0x1.ec06dap-03f) * f + 0x1.62e0dcp-01f) * f + 0x1.ffffe8p-01f;
	return (vec)((ivec)y + ((ivec)t << 23));
}

// 2 to the power of x, which is at most 0: 2^n times a polynomial in x - n, which is off by 2e-07 of it.
static inline float scale(float x)
{
	x = x > -120.0f ? x : -120.0f;
	union { float f; uint32_t i; } t = { .f = x + 0x1.8p23f }, y; // the integer is in the low bits
	const float f = x - (t.f - 0x1.8p23f);
	y.f = (((((0x1.5c08e6p-10f) * f + 0x1.3d0c52p-07f) * f + 0x1.c6b6e4p-05f) * f + 0x1.ebf918p-03f) * f + 0x1.62e428p-01f) * f + 0x1.000002p+00f;
	y.i += t.i << 23;
	return y.f;
}

struct call {
	const float *q;
	const kv *k, *v;
	float *out;
	int64_t queries, context, heads;
	int64_t row_tiles; // of a unit of heads
	char *memory;      // of the workers
	int64_t bytes;     // of one of them
};

// scratch is the memory of a worker for a tile of rows.
struct scratch {
	float q[TILE_ROWS * HEAD] __attribute__((aligned(64)));
	float sums[TILE_ROWS * HEAD] __attribute__((aligned(64))); // of weighted values
	float top[TILE_ROWS]; // the largest score so far
	float sum[TILE_ROWS]; // of the weights
	int64_t seen[TILE_ROWS]; // keys that a row sees; not fewer than the row before
	float scores[TILE_ROWS * LD] __attribute__((aligned(64)));
	float keys[TILE_KEYS * HEAD] __attribute__((aligned(64)));
	float values[TILE_KEYS * HEAD] __attribute__((aligned(64)));
};

// take copies the queries of the rows from `row` on, and returns how many rows the tile has, up to a whole micro-tile. Rows beyond
// the last one are zero. Rows are ordered by query, and by head within it.
static int64_t take(const struct call *c, struct scratch *s, int64_t unit, int64_t row)
{
	const int64_t n = least(TILE_ROWS, c->queries * TOGETHER - row), rows = (n + ROWS - 1) / ROWS * ROWS;
	for (int64_t r = 0; r < n; r++) {
		// Rows of the result are far apart, and so are queries of different heads.
		const int64_t i = (row + r) / TOGETHER, h = unit * TOGETHER + (row + r) % TOGETHER;
		for (int64_t d = 0; d < HEAD; d += 64 / sizeof(float)) {
			__builtin_prefetch(c->q + (h * c->queries + i) * HEAD + d);
			__builtin_prefetch(c->out + (i * c->heads + h) * HEAD + d, 1);
		}
	}
	for (int64_t r = 0; r < rows; r++) {
		const int64_t i = (row + least(r, n - 1)) / TOGETHER, h = unit * TOGETHER + (row + r) % TOGETHER;
		const float *from = c->q + (h * c->queries + i) * HEAD;
		float *to = s->q + r * HEAD;
		for (int64_t d = 0; d < HEAD; d += LANES)
			STORE(to + d, r < n ? LOAD(from + d) * factor : (vec){ 0 });
		s->seen[r] = c->context - c->queries + i + 1;
		s->top[r] = -__builtin_inff();
		s->sum[r] = 0;
	}
	memset(s->sums, 0, rows * HEAD * sizeof(float));
	return rows;
}

// weigh turns the scores of n keys from key j on into weights, relative to the largest score of the row so far. Where that has
// grown, the sums so far are multiplied by what their weights are less now. Keys that only other rows of a micro-tile see get
// the weight 0.
static void weigh(struct scratch *s, int64_t rows, int64_t j, int64_t n, float *scores, int64_t ld)
{
	for (int64_t r = 0; r < rows; r++) {
		float *w = scores + r * ld;
		const int64_t last = least(n, s->seen[r / ROWS * ROWS + ROWS - 1] - j);
		int64_t seen = least(n, s->seen[r] - j);
		if (seen < 0)
			seen = 0;
		const int64_t up = (seen + LANES - 1) / LANES * LANES;
		for (int64_t i = seen; i < up; i++)
			w[i] = -__builtin_inff();
		vec largest = (vec){ 0 } + s->top[r];
		for (int64_t i = 0; i < up; i += LANES)
			largest = larger(largest, LOAD(w + i));
		largest = all_largest(largest);
		const float top = largest[0];
		if (top > s->top[r]) {
			const float less = scale(s->top[r] - top);
			for (int64_t d = 0; d < HEAD; d += LANES)
				STORE(s->sums + r * HEAD + d, LOAD(s->sums + r * HEAD + d) * less);
			s->sum[r] *= less;
			s->top[r] = top;
		}
		vec sum = { 0 };
		for (int64_t i = 0; i < seen / LANES * LANES; i += LANES) {
			const vec y = power(LOAD(w + i) - top);
			STORE(w + i, y);
			sum += y;
		}
		if (seen < up) {
			vec y = power(LOAD(w + up - LANES) - top);
			for (int64_t i = seen % LANES; i < LANES; i++)
				y[i] = 0;
			STORE(w + up - LANES, y);
			sum += y;
		}
		for (int64_t i = up; i < last; i++)
			w[i] = 0;
		sum = all_sum(sum);
		s->sum[r] += sum[0];
	}
}

// Writes 16 numbers of each of 16 keys as columns of a panel.
static inline void transpose(const kv *k, float *to)
{
	const vec r0 = widen(k + 0 * HEAD);
	const vec r1 = widen(k + 1 * HEAD);
	const vec r2 = widen(k + 2 * HEAD);
	const vec r3 = widen(k + 3 * HEAD);
	const vec r4 = widen(k + 4 * HEAD);
	const vec r5 = widen(k + 5 * HEAD);
	const vec r6 = widen(k + 6 * HEAD);
	const vec r7 = widen(k + 7 * HEAD);
	const vec r8 = widen(k + 8 * HEAD);
	const vec r9 = widen(k + 9 * HEAD);
	const vec r10 = widen(k + 10 * HEAD);
	const vec r11 = widen(k + 11 * HEAD);
	const vec r12 = widen(k + 12 * HEAD);
	const vec r13 = widen(k + 13 * HEAD);
	const vec r14 = widen(k + 14 * HEAD);
	const vec r15 = widen(k + 15 * HEAD);
	const vec s1_0_0 = MIX(r0, r1, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_0_1 = MIX(r0, r1, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_1_0 = MIX(r2, r3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_1_1 = MIX(r2, r3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_2_0 = MIX(r4, r5, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_2_1 = MIX(r4, r5, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_3_0 = MIX(r6, r7, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_3_1 = MIX(r6, r7, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_4_0 = MIX(r8, r9, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_4_1 = MIX(r8, r9, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_5_0 = MIX(r10, r11, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_5_1 = MIX(r10, r11, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_6_0 = MIX(r12, r13, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_6_1 = MIX(r12, r13, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s1_7_0 = MIX(r14, r15, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
	const vec s1_7_1 = MIX(r14, r15, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
	const vec s2_0_0 = MIX(s1_0_0, s1_1_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_0_1 = MIX(s1_0_0, s1_1_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_0_2 = MIX(s1_0_1, s1_1_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_0_3 = MIX(s1_0_1, s1_1_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_1_0 = MIX(s1_2_0, s1_3_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_1_1 = MIX(s1_2_0, s1_3_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_1_2 = MIX(s1_2_1, s1_3_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_1_3 = MIX(s1_2_1, s1_3_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_2_0 = MIX(s1_4_0, s1_5_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_2_1 = MIX(s1_4_0, s1_5_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_2_2 = MIX(s1_4_1, s1_5_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_2_3 = MIX(s1_4_1, s1_5_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_3_0 = MIX(s1_6_0, s1_7_0, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_3_1 = MIX(s1_6_0, s1_7_0, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s2_3_2 = MIX(s1_6_1, s1_7_1, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
	const vec s2_3_3 = MIX(s1_6_1, s1_7_1, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
	const vec s4_0_0 = MIX(s2_0_0, s2_1_0, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_0_1 = MIX(s2_0_0, s2_1_0, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_0_2 = MIX(s2_0_1, s2_1_1, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_0_3 = MIX(s2_0_1, s2_1_1, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_0_4 = MIX(s2_0_2, s2_1_2, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_0_5 = MIX(s2_0_2, s2_1_2, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_0_6 = MIX(s2_0_3, s2_1_3, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_0_7 = MIX(s2_0_3, s2_1_3, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_1_0 = MIX(s2_2_0, s2_3_0, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_1_1 = MIX(s2_2_0, s2_3_0, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_1_2 = MIX(s2_2_1, s2_3_1, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_1_3 = MIX(s2_2_1, s2_3_1, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_1_4 = MIX(s2_2_2, s2_3_2, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_1_5 = MIX(s2_2_2, s2_3_2, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s4_1_6 = MIX(s2_2_3, s2_3_3, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
	const vec s4_1_7 = MIX(s2_2_3, s2_3_3, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
	const vec s8_0_0 = MIX(s4_0_0, s4_1_0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_1 = MIX(s4_0_0, s4_1_0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_2 = MIX(s4_0_1, s4_1_1, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_3 = MIX(s4_0_1, s4_1_1, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_4 = MIX(s4_0_2, s4_1_2, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_5 = MIX(s4_0_2, s4_1_2, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_6 = MIX(s4_0_3, s4_1_3, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_7 = MIX(s4_0_3, s4_1_3, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_8 = MIX(s4_0_4, s4_1_4, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_9 = MIX(s4_0_4, s4_1_4, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_10 = MIX(s4_0_5, s4_1_5, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_11 = MIX(s4_0_5, s4_1_5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_12 = MIX(s4_0_6, s4_1_6, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_13 = MIX(s4_0_6, s4_1_6, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	const vec s8_0_14 = MIX(s4_0_7, s4_1_7, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
	const vec s8_0_15 = MIX(s4_0_7, s4_1_7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
	STORE(to + 0 * PANEL, s8_0_0);
	STORE(to + 4 * PANEL, s8_0_1);
	STORE(to + 8 * PANEL, s8_0_2);
	STORE(to + 12 * PANEL, s8_0_3);
	STORE(to + 1 * PANEL, s8_0_4);
	STORE(to + 5 * PANEL, s8_0_5);
	STORE(to + 9 * PANEL, s8_0_6);
	STORE(to + 13 * PANEL, s8_0_7);
	STORE(to + 2 * PANEL, s8_0_8);
	STORE(to + 6 * PANEL, s8_0_9);
	STORE(to + 10 * PANEL, s8_0_10);
	STORE(to + 14 * PANEL, s8_0_11);
	STORE(to + 3 * PANEL, s8_0_12);
	STORE(to + 7 * PANEL, s8_0_13);
	STORE(to + 11 * PANEL, s8_0_14);
	STORE(to + 15 * PANEL, s8_0_15);
}

// pack_keys writes n keys as panels of PANEL keys, number by number. Keys that a panel lacks are zero.
static NOINLINE void pack_keys(const kv *k, int64_t n, float *to)
{
	for (int64_t p = 0; p < n; p += PANEL, to += PANEL * HEAD) {
		int64_t i = 0;
		for (; i < PANEL && p + i + LANES <= n; i += LANES)
			for (int64_t d = 0; d < HEAD; d += LANES)
				transpose(k + (p + i) * HEAD + d, to + d * PANEL + i);
		for (; i < PANEL; i++)
			for (int64_t d = 0; d < HEAD; d++)
				to[d * PANEL + i] = p + i < n ? widen_one(k[(p + i) * HEAD + d]) : 0;
	}
}

// The scores of 4 rows for a panel of keys; to has rows that are ld apart.
static NOINLINE void score_panel(const float *q, const float *k, float *to, int64_t ld)
{
	vec a0_0 = { 0 };
	vec a0_1 = { 0 };
	vec a1_0 = { 0 };
	vec a1_1 = { 0 };
	vec a2_0 = { 0 };
	vec a2_1 = { 0 };
	vec a3_0 = { 0 };
	vec a3_1 = { 0 };
	int64_t d = 0;
	for (; d + 2 <= HEAD; d += 2) {
		{
			const vec k0 = LOAD(k + d * PANEL);
			const vec k1 = LOAD(k + d * PANEL + 16);
			const float q0 = q[d];
			a0_0 += q0 * k0;
			a0_1 += q0 * k1;
			const float q1 = q[d + 64];
			a1_0 += q1 * k0;
			a1_1 += q1 * k1;
			const float q2 = q[d + 128];
			a2_0 += q2 * k0;
			a2_1 += q2 * k1;
			const float q3 = q[d + 192];
			a3_0 += q3 * k0;
			a3_1 += q3 * k1;
		}
		{
			const vec k0 = LOAD(k + (d + 1) * PANEL);
			const vec k1 = LOAD(k + (d + 1) * PANEL + 16);
			const float q0 = q[d + 1];
			a0_0 += q0 * k0;
			a0_1 += q0 * k1;
			const float q1 = q[d + 65];
			a1_0 += q1 * k0;
			a1_1 += q1 * k1;
			const float q2 = q[d + 129];
			a2_0 += q2 * k0;
			a2_1 += q2 * k1;
			const float q3 = q[d + 193];
			a3_0 += q3 * k0;
			a3_1 += q3 * k1;
		}
	}
	STORE(to + 0 * ld, a0_0);
	STORE(to + 0 * ld + 16, a0_1);
	STORE(to + 1 * ld, a1_0);
	STORE(to + 1 * ld + 16, a1_1);
	STORE(to + 2 * ld, a2_0);
	STORE(to + 2 * ld + 16, a2_1);
	STORE(to + 3 * ld, a3_0);
	STORE(to + 3 * ld + 16, a3_1);
}

// pack_values writes n values as strips of columns, each value by value.
static NOINLINE void pack_values(const kv *v, int64_t n, float *to)
{
	for (int64_t column = 0; column < HEAD; column += 48) {
		const int64_t width = least(48, HEAD - column);
		float *strip = to + column * TILE_KEYS;
		for (int64_t j = 0; j < n; j++)
			for (int64_t d = 0; d < width; d += LANES)
				STORE(strip + j * width + d, widen(v + j * HEAD + column + d));
	}
}

// Adds n values, times the weights w of 4 rows, to 3 vectors of the sums.
static NOINLINE void add_3(const float *w, int64_t ld, int64_t n, const float *v, float *to)
{
	vec a0_0 = LOAD(to + 0 * HEAD);
	vec a0_1 = LOAD(to + 0 * HEAD + 16);
	vec a0_2 = LOAD(to + 0 * HEAD + 32);
	vec a1_0 = LOAD(to + 1 * HEAD);
	vec a1_1 = LOAD(to + 1 * HEAD + 16);
	vec a1_2 = LOAD(to + 1 * HEAD + 32);
	vec a2_0 = LOAD(to + 2 * HEAD);
	vec a2_1 = LOAD(to + 2 * HEAD + 16);
	vec a2_2 = LOAD(to + 2 * HEAD + 32);
	vec a3_0 = LOAD(to + 3 * HEAD);
	vec a3_1 = LOAD(to + 3 * HEAD + 16);
	vec a3_2 = LOAD(to + 3 * HEAD + 32);
	int64_t j = 0;
	for (; j + 2 <= n; j += 2) {
		{
			const vec v0 = LOAD(v + j * 48);
			const vec v1 = LOAD(v + j * 48 + 16);
			const vec v2 = LOAD(v + j * 48 + 32);
			const float w0 = w[0 * ld + j];
			a0_0 += w0 * v0;
			a0_1 += w0 * v1;
			a0_2 += w0 * v2;
			const float w1 = w[1 * ld + j];
			a1_0 += w1 * v0;
			a1_1 += w1 * v1;
			a1_2 += w1 * v2;
			const float w2 = w[2 * ld + j];
			a2_0 += w2 * v0;
			a2_1 += w2 * v1;
			a2_2 += w2 * v2;
			const float w3 = w[3 * ld + j];
			a3_0 += w3 * v0;
			a3_1 += w3 * v1;
			a3_2 += w3 * v2;
		}
		{
			const vec v0 = LOAD(v + (j + 1) * 48);
			const vec v1 = LOAD(v + (j + 1) * 48 + 16);
			const vec v2 = LOAD(v + (j + 1) * 48 + 32);
			const float w0 = w[0 * ld + j + 1];
			a0_0 += w0 * v0;
			a0_1 += w0 * v1;
			a0_2 += w0 * v2;
			const float w1 = w[1 * ld + j + 1];
			a1_0 += w1 * v0;
			a1_1 += w1 * v1;
			a1_2 += w1 * v2;
			const float w2 = w[2 * ld + j + 1];
			a2_0 += w2 * v0;
			a2_1 += w2 * v1;
			a2_2 += w2 * v2;
			const float w3 = w[3 * ld + j + 1];
			a3_0 += w3 * v0;
			a3_1 += w3 * v1;
			a3_2 += w3 * v2;
		}
	}
	for (; j < n; j += 1) {
		const vec v0 = LOAD(v + j * 48);
		const vec v1 = LOAD(v + j * 48 + 16);
		const vec v2 = LOAD(v + j * 48 + 32);
		const float w0 = w[0 * ld + j];
		a0_0 += w0 * v0;
		a0_1 += w0 * v1;
		a0_2 += w0 * v2;
		const float w1 = w[1 * ld + j];
		a1_0 += w1 * v0;
		a1_1 += w1 * v1;
		a1_2 += w1 * v2;
		const float w2 = w[2 * ld + j];
		a2_0 += w2 * v0;
		a2_1 += w2 * v1;
		a2_2 += w2 * v2;
		const float w3 = w[3 * ld + j];
		a3_0 += w3 * v0;
		a3_1 += w3 * v1;
		a3_2 += w3 * v2;
	}
	STORE(to + 0 * HEAD, a0_0);
	STORE(to + 0 * HEAD + 16, a0_1);
	STORE(to + 0 * HEAD + 32, a0_2);
	STORE(to + 1 * HEAD, a1_0);
	STORE(to + 1 * HEAD + 16, a1_1);
	STORE(to + 1 * HEAD + 32, a1_2);
	STORE(to + 2 * HEAD, a2_0);
	STORE(to + 2 * HEAD + 16, a2_1);
	STORE(to + 2 * HEAD + 32, a2_2);
	STORE(to + 3 * HEAD, a3_0);
	STORE(to + 3 * HEAD + 16, a3_1);
	STORE(to + 3 * HEAD + 32, a3_2);
}

// Adds n values, times the weights w of 4 rows, to 1 vectors of the sums.
static NOINLINE void add_1(const float *w, int64_t ld, int64_t n, const float *v, float *to)
{
	vec a0_0 = LOAD(to + 0 * HEAD);
	vec a1_0 = LOAD(to + 1 * HEAD);
	vec a2_0 = LOAD(to + 2 * HEAD);
	vec a3_0 = LOAD(to + 3 * HEAD);
	int64_t j = 0;
	for (; j + 2 <= n; j += 2) {
		{
			const vec v0 = LOAD(v + j * 16);
			const float w0 = w[0 * ld + j];
			a0_0 += w0 * v0;
			const float w1 = w[1 * ld + j];
			a1_0 += w1 * v0;
			const float w2 = w[2 * ld + j];
			a2_0 += w2 * v0;
			const float w3 = w[3 * ld + j];
			a3_0 += w3 * v0;
		}
		{
			const vec v0 = LOAD(v + (j + 1) * 16);
			const float w0 = w[0 * ld + j + 1];
			a0_0 += w0 * v0;
			const float w1 = w[1 * ld + j + 1];
			a1_0 += w1 * v0;
			const float w2 = w[2 * ld + j + 1];
			a2_0 += w2 * v0;
			const float w3 = w[3 * ld + j + 1];
			a3_0 += w3 * v0;
		}
	}
	for (; j < n; j += 1) {
		const vec v0 = LOAD(v + j * 16);
		const float w0 = w[0 * ld + j];
		a0_0 += w0 * v0;
		const float w1 = w[1 * ld + j];
		a1_0 += w1 * v0;
		const float w2 = w[2 * ld + j];
		a2_0 += w2 * v0;
		const float w3 = w[3 * ld + j];
		a3_0 += w3 * v0;
	}
	STORE(to + 0 * HEAD, a0_0);
	STORE(to + 1 * HEAD, a1_0);
	STORE(to + 2 * HEAD, a2_0);
	STORE(to + 3 * HEAD, a3_0);
}

// Adds the n values of the tile at key j, times the weights of each row, to the sums of the rows.
static void add_values(struct scratch *s, int64_t rows, int64_t j, int64_t n, const float *v, const float *w, int64_t ld)
{
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_3(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v, s->sums + r * HEAD);
	}
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_1(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v + 6144, s->sums + r * HEAD + 48);
	}
}

// score_tile writes the scores of a tile of rows for the n keys from key j on.
static void score_tile(struct scratch *s, int64_t rows, int64_t j, int64_t n, const float *k, float *scores, int64_t ld)
{
	for (int64_t p = 0; p < n; p += PANEL)
		for (int64_t r = 0; r < rows; r += ROWS)
			if (j + p < s->seen[r + ROWS - 1])
				score_panel(s->q + r * HEAD, k + p * HEAD, scores + r * ld + p, ld);
}

// block computes the tile of rows of a unit of heads that begins at `row`, over the keys from `from` to `to`.
static void block(const struct call *c, struct scratch *s, int64_t unit, int64_t tile, int64_t from, int64_t to)
{
	const int64_t row = tile * TILE_ROWS, rows = take(c, s, unit, row);
	const kv *k = c->k + unit / UNITS * c->context * HEAD;
	const kv *v = c->v + unit / UNITS * c->context * HEAD;
	const int64_t end = least(to, s->seen[rows - 1]);
	for (int64_t j = from; j < end; j += TILE_KEYS) {
		const int64_t n = least(TILE_KEYS, end - j);
		pack_keys(k + j * HEAD, n, s->keys);
		score_tile(s, rows, j, n, s->keys, s->scores, LD);
		weigh(s, rows, j, n, s->scores, LD);
		pack_values(v + j * HEAD, n, s->values);
		add_values(s, rows, j, n, s->values, s->scores, LD);
	}
	const int64_t n = least(TILE_ROWS, c->queries * TOGETHER - row);
	for (int64_t r = 0; r < n; r++) {
		const int64_t i = (row + r) / TOGETHER, h = unit * TOGETHER + (row + r) % TOGETHER;
		float *out = c->out + (i * c->heads + h) * HEAD;
		for (int64_t d = 0; d < HEAD; d += LANES)
			STORE(out + d, LOAD(s->sums + r * HEAD + d) / s->sum[r]);
	}
}

// whole computes all that a kv head takes part in.
static void whole(const struct call *c, struct scratch *s, int64_t head)
{
	for (int64_t unit = head * UNITS; unit < (head + 1) * UNITS; unit++)
		for (int64_t tile = 0; tile < c->row_tiles; tile++)
			block(c, s, unit, tile, 0, c->context);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { .q = args[0], .k = args[1], .v = args[2], .out = args[3], .queries = dims[0], .context = dims[1], .heads = dims[2] };
	c.row_tiles = (c.queries * TOGETHER + TILE_ROWS - 1) / TILE_ROWS;
	c.bytes = sizeof(struct scratch);
	struct scratch_small small;
	c.bytes = (c.bytes + 4095) / 4096 * 4096;
	c.memory = reserve(&small, c.bytes);
	for (int64_t head = 0; head < c.heads / GROUP; head++)
		whole(&c, (struct scratch *)c.memory, head);
	give_back(&small, c.memory);
}
