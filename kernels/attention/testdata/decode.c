// form=online compiler=gcc opt=O3 isa=f16c lanes=8 key_tile=128 rows=2 keys=rows dots=4 values=rows columns=2 unroll=1 degree=4 prefetch=16 together=4
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx2 -mfma -mf16c
// attention over f16 keys and values: form=online compiler=gcc opt=O3 isa=f16c lanes=8 key_tile=128 rows=2 keys=rows dots=4 values=rows columns=2 unroll=1 degree=4 prefetch=16 together=4
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD = 64,   // numbers of a query, key or value
	GROUP = 4, // query heads of a kv head
	LANES = 8,
	ROWS = 2,          // of a micro-tile; a row is a query of one head
	TILE_ROWS = 4, // of a tile
	TILE_KEYS = 128,
	TOGETHER = 4, // query heads that are tiled together
	UNITS = 1,       // sets of such heads of a kv head
	DOTS = 4, // keys in a micro-tile
	LD = TILE_KEYS + 16, // distance of rows of scores
};

// Queries are multiplied by this. The scores are then logarithms to base 2.
static const float factor = 0x1.715476p-03f;

typedef uint16_t kv; // an element of keys and values, f16

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


typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));

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
	typedef uint16_t half __attribute__((vector_size(16), aligned(2), may_alias));
	vec y;
	__asm__("vcvtph2ps %1, %0" : "=v"(y) : "m"(*(const half *)p));
	return y;
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
	v = larger(v, MIX(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
	v = larger(v, MIX(v, v, 2, 3, 4, 5, 6, 7, 0, 1));
	v = larger(v, MIX(v, v, 1, 2, 3, 4, 5, 6, 7, 0));
	return v;
}

static inline vec all_sum(vec v)
{
	v += MIX(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
	v += MIX(v, v, 2, 3, 4, 5, 6, 7, 0, 1);
	v += MIX(v, v, 1, 2, 3, 4, 5, 6, 7, 0);
	return v;
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
	kv rest[DOTS * HEAD] __attribute__((aligned(64)));
	float scores[TILE_ROWS * LD] __attribute__((aligned(64)));
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

// The scores of 2 rows for 4 keys; to has rows that are ld apart.
static NOINLINE void score_dots(const float *q, const kv *k, float *to, int64_t ld)
{
	for (int64_t i = 0; i < (int64_t)(DOTS * HEAD * sizeof(kv)); i += 64)
		__builtin_prefetch((const char *)(k + 16 * HEAD) + i);
	vec a0_0 = { 0 };
	vec a0_1 = { 0 };
	vec a0_2 = { 0 };
	vec a0_3 = { 0 };
	vec a1_0 = { 0 };
	vec a1_1 = { 0 };
	vec a1_2 = { 0 };
	vec a1_3 = { 0 };
	int64_t d = 0;
	for (; d + 8 <= HEAD; d += 8) {
		const vec q0 = LOAD(q + d);
		const vec q1 = LOAD(q + d + 64);
		const vec k0 = widen(k + d);
		a0_0 += q0 * k0;
		a1_0 += q1 * k0;
		const vec k1 = widen(k + d + 64);
		a0_1 += q0 * k1;
		a1_1 += q1 * k1;
		const vec k2 = widen(k + d + 128);
		a0_2 += q0 * k2;
		a1_2 += q1 * k2;
		const vec k3 = widen(k + d + 192);
		a0_3 += q0 * k3;
		a1_3 += q1 * k3;
	}
	float sums[8] __attribute__((aligned(64)));
	const vec s0_1_0 = MIX(a0_0, a0_1, 0, 8, 1, 9, 4, 12, 5, 13) + MIX(a0_0, a0_1, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec s0_1_1 = MIX(a0_2, a0_3, 0, 8, 1, 9, 4, 12, 5, 13) + MIX(a0_2, a0_3, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec s0_1_2 = MIX(a1_0, a1_1, 0, 8, 1, 9, 4, 12, 5, 13) + MIX(a1_0, a1_1, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec s0_1_3 = MIX(a1_2, a1_3, 0, 8, 1, 9, 4, 12, 5, 13) + MIX(a1_2, a1_3, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec s0_2_0 = MIX(s0_1_0, s0_1_1, 0, 1, 8, 9, 4, 5, 12, 13) + MIX(s0_1_0, s0_1_1, 2, 3, 10, 11, 6, 7, 14, 15);
	const vec s0_2_1 = MIX(s0_1_2, s0_1_3, 0, 1, 8, 9, 4, 5, 12, 13) + MIX(s0_1_2, s0_1_3, 2, 3, 10, 11, 6, 7, 14, 15);
	const vec s0_4_0 = MIX(s0_2_0, s0_2_1, 0, 1, 2, 3, 8, 9, 10, 11) + MIX(s0_2_0, s0_2_1, 4, 5, 6, 7, 12, 13, 14, 15);
	STORE(sums + 0, s0_4_0);
	for (int64_t r = 0; r < 2; r++)
		memcpy(to + r * ld, sums + r * DOTS, DOTS * sizeof(float));
}

// Adds n values, times the weights w of 2 rows, to 2 vectors of the sums.
static NOINLINE void add_2(const float *w, int64_t ld, int64_t n, const kv *v, float *to)
{
	vec a0_0 = LOAD(to + 0 * HEAD);
	vec a0_1 = LOAD(to + 0 * HEAD + 8);
	vec a1_0 = LOAD(to + 1 * HEAD);
	vec a1_1 = LOAD(to + 1 * HEAD + 8);
	int64_t j = 0;
	for (; j + 1 <= n; j += 1) {
		__builtin_prefetch(v + (j + 16) * HEAD);
		const vec v0 = widen(v + j * HEAD);
		const vec v1 = widen(v + j * HEAD + 8);
		const float w0 = w[0 * ld + j];
		a0_0 += w0 * v0;
		a0_1 += w0 * v1;
		const float w1 = w[1 * ld + j];
		a1_0 += w1 * v0;
		a1_1 += w1 * v1;
	}
	STORE(to + 0 * HEAD, a0_0);
	STORE(to + 0 * HEAD + 8, a0_1);
	STORE(to + 1 * HEAD, a1_0);
	STORE(to + 1 * HEAD + 8, a1_1);
}

// Adds the n values of the tile at key j, times the weights of each row, to the sums of the rows.
static void add_values(struct scratch *s, int64_t rows, int64_t j, int64_t n, const kv *v, const float *w, int64_t ld)
{
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_2(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v, s->sums + r * HEAD);
	}
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_2(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v + 16, s->sums + r * HEAD + 16);
	}
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_2(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v + 32, s->sums + r * HEAD + 32);
	}
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_2(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v + 48, s->sums + r * HEAD + 48);
	}
}

// score_tile writes the scores of a tile of rows for the n keys from key j on.
static void score_tile(struct scratch *s, int64_t rows, int64_t j, int64_t n, const kv *k, float *scores, int64_t ld)
{
	for (int64_t r = 0; r < rows; r += ROWS) {
		const int64_t last = least(n, s->seen[r + ROWS - 1] - j);
		int64_t p = 0;
		for (; p + DOTS <= last; p += DOTS)
			score_dots(s->q + r * HEAD, k + p * HEAD, scores + r * ld + p, ld);
		if (p < last) {
			memset(s->rest, 0, sizeof s->rest);
			memcpy(s->rest, k + p * HEAD, (last - p) * HEAD * sizeof(kv));
			score_dots(s->q + r * HEAD, s->rest, scores + r * ld + p, ld);
		}
	}
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
		score_tile(s, rows, j, n, k + j * HEAD, s->scores, LD);
		weigh(s, rows, j, n, s->scores, LD);
		add_values(s, rows, j, n, v + j * HEAD, s->scores, LD);
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
