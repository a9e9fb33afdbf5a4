// form=online compiler=gcc opt=O3 isa=avx2 lanes=8 key_tile=128 rows=1 keys=rows dots=2 values=rows columns=1 unroll=1 degree=4 prefetch=0 together=2 workers=2 split=context parts=2 hand_out=static start=pool spin=1000
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx2 -mfma -pthread -D_GNU_SOURCE
// attention over f16 keys and values: form=online compiler=gcc opt=O3 isa=avx2 lanes=8 key_tile=128 rows=1 keys=rows dots=2 values=rows columns=1 unroll=1 degree=4 prefetch=0 together=2 workers=2 split=context parts=2 hand_out=static start=pool spin=1000
#include <pthread.h>
#include <stdint.h>

enum { CREW_WORKERS = 2 };

struct crew_job {
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};
enum { CREW_SPIN = 1000 };

#include <sched.h>
#include <string.h>

static struct {
	uint64_t ticket __attribute__((aligned(64))); // generation above tasks
	int64_t finished __attribute__((aligned(64))); // tasks
	int sleepers __attribute__((aligned(64)));
	int cores[CREW_WORKERS]; // that workers were last seen on, counted from 1; 0 for not known
	int helpers; // threads beside the caller; -1 before the first call
	int stop;
	struct crew_job job;
	pthread_mutex_t turn; // of callers: the workers do one job at a time
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t threads[CREW_WORKERS];
} crew = { .helpers = -1, .turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

#define CREW_READ(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define CREW_GENERATION(t) ((t) >> 32)
#define CREW_TASKS(t) ((t) & 0xffffffff)
#if defined(__x86_64__) || defined(__i386__)
#define CREW_PAUSE() __builtin_ia32_pause()
#else
#define CREW_PAUSE() __asm__ volatile("")
#endif

enum {
	CREW_PATIENCE = 1000, // polls after which a core is offered
	CREW_CALM = 16,       // jobs for which a helper stays where it is after it has moved
};

// Who polls may be on the core that the one waited for needs: while somebody else's work keeps another core busy, the
// system may put two threads on one. So every now and then a poll offers the core.
static inline void crew_poll(int i)
{
	if (i % CREW_PATIENCE == CREW_PATIENCE - 1)
		sched_yield();
	else
		CREW_PAUSE();
}

// Notes the core that a worker is on, counted from 1; 0 where that cannot be known.
static inline int crew_note(int worker)
{
	int here = 0;
#ifdef __linux__
	here = sched_getcpu() + 1;
#endif
	if (CREW_READ(crew.cores[worker]) != here)
		__atomic_store_n(&crew.cores[worker], here, __ATOMIC_SEQ_CST);
	return here;
}

// Moves a helper off a core that a lower worker was last seen on, where there is another, and returns whether it did: the
// system leaves threads that offer a core to each other together for a tenth of a second and more. The affinity is
// afterwards what it was.
static int crew_spread(int worker)
{
	const int here = crew_note(worker);
	int crowded = 0;
	for (int w = 0; w < worker; w++)
		crowded |= CREW_READ(crew.cores[w]) == here;
	if (here == 0 || !crowded)
		return 0;
#ifdef __linux__
	cpu_set_t allowed, other;
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return 0;
	other = allowed;
	for (int w = 0; w < worker; w++)
		if (CREW_READ(crew.cores[w]) > 0)
			CPU_CLR(CREW_READ(crew.cores[w]) - 1, &other);
	if (CPU_COUNT(&other) == 0 || sched_setaffinity(0, sizeof other, &other) != 0)
		return 0;
	crew_note(worker);
	if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) { // the cores that may be used have changed
		memset(&allowed, 255, sizeof allowed);
		sched_setaffinity(0, sizeof allowed, &allowed);
	}
#endif
	return 1;
}

static inline void crew_task(int worker, int64_t i)
{
	crew.job.task(crew.job.context, i, worker);
	__atomic_fetch_add(&crew.finished, 1, __ATOMIC_SEQ_CST);
}

static void crew_work(int worker, uint64_t mine);

static void *crew_main(void *p)
{
	const int worker = (int)(intptr_t)p;
	int calm = 0;
	for (uint64_t seen = 0;;) {
		for (int i = 0; i < CREW_SPIN && CREW_GENERATION(CREW_READ(crew.ticket)) == seen; i++)
			crew_poll(i);
		if (CREW_GENERATION(CREW_READ(crew.ticket)) == seen) {
			pthread_mutex_lock(&crew.lock);
			__atomic_fetch_add(&crew.sleepers, 1, __ATOMIC_SEQ_CST);
			while (CREW_GENERATION(CREW_READ(crew.ticket)) == seen)
				pthread_cond_wait(&crew.wake, &crew.lock);
			__atomic_fetch_sub(&crew.sleepers, 1, __ATOMIC_SEQ_CST);
			pthread_mutex_unlock(&crew.lock);
		}
		if (CREW_READ(crew.stop))
			return 0;
		const uint64_t mine = CREW_READ(crew.ticket);
		seen = CREW_GENERATION(mine);
		if (calm > 0)
			calm--;
		else if (crew_spread(worker))
			calm = CREW_CALM;
		crew_work(worker, mine);
	}
}

// Where the machine gives fewer threads than asked for, the others do the work. A thread may look at the number of
// threads only when it has a task, which it cannot have before this has returned.
static void crew_start(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	int n = 0;
	while (n < CREW_WORKERS - 1 && pthread_create(&crew.threads[n], &attributes, crew_main, (void *)(intptr_t)(n + 1)) == 0)
		n++;
	pthread_attr_destroy(&attributes);
	crew.helpers = n;
}

static void crew_publish(int64_t tasks)
{
	const uint64_t last = CREW_READ(crew.ticket);
	__atomic_store_n(&crew.ticket, (CREW_GENERATION(last) + 1) << 32 | (uint64_t)tasks, __ATOMIC_SEQ_CST);
	if (CREW_READ(crew.sleepers) > 0) {
		pthread_mutex_lock(&crew.lock);
		pthread_cond_broadcast(&crew.wake);
		pthread_mutex_unlock(&crew.lock);
	}
}

// The threads end with the library, so that unloading it leaves none behind.
__attribute__((destructor)) static void crew_stop(void)
{
	__atomic_store_n(&crew.stop, 1, __ATOMIC_SEQ_CST);
	crew_publish(0);
	for (int i = 0; i < crew.helpers; i++)
		pthread_join(crew.threads[i], 0);
}

static void parallel(void (*task)(void *context, int64_t i, int worker), void *context, int64_t tasks)
{
	if (tasks <= 1) {
		if (tasks == 1)
			task(context, 0, 0);
		return;
	}
	pthread_mutex_lock(&crew.turn);
	if (crew.helpers < 0)
		crew_start();
	crew.job = (struct crew_job){ task, context };
	__atomic_store_n(&crew.finished, 0, __ATOMIC_SEQ_CST);
	crew_note(0);
	crew_publish(tasks);
	crew_work(0, CREW_READ(crew.ticket));
	for (int i = 0; CREW_READ(crew.finished) < tasks; i = (i + 1) % CREW_PATIENCE)
		crew_poll(i);
	pthread_mutex_unlock(&crew.turn);
}

static void crew_work(int worker, uint64_t mine)
{
	for (uint64_t i = worker; i < CREW_TASKS(mine); i += crew.helpers + 1)
		crew_task(worker, (int64_t)i);
}

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD = 16,   // numbers of a query, key or value
	GROUP = 2, // query heads of a kv head
	LANES = 8,
	ROWS = 1,          // of a micro-tile; a row is a query of one head
	TILE_ROWS = 2, // of a tile
	TILE_KEYS = 128,
	TOGETHER = 2, // query heads that are tiled together
	UNITS = 1,       // sets of such heads of a kv head
	DOTS = 2, // keys in a micro-tile
	LD = TILE_KEYS + 16, // distance of rows of scores
};

// Queries are multiplied by this. The scores are then logarithms to base 2.
static const float factor = 0x1.715476p-02f;

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
	typedef uint32_t uvec __attribute__((vector_size(32)));
	const uvec x = __builtin_convertvector(*(const half *)p, uvec);
	const vec y = (vec)((x & 0x7fff) << 13) * 0x1p112f;
	return (vec)((uvec)y | ((uvec)(y >= 0x1p16f) & 0x7f800000) | (x & 0x8000) << 16);
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
	struct part *parts; // by unit of heads, tile of rows, and part of the context
};

enum { PARTS = 2 }; // of the context

// part is what a part of the context gives a tile of rows.
struct part {
	float sums[TILE_ROWS * HEAD], top[TILE_ROWS], sum[TILE_ROWS];
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

// The scores of 1 rows for 2 keys; to has rows that are ld apart.
static NOINLINE void score_dots(const float *q, const kv *k, float *to, int64_t ld)
{
	vec a0_0 = { 0 };
	vec a0_1 = { 0 };
	int64_t d = 0;
	for (; d + 8 <= HEAD; d += 8) {
		const vec q0 = LOAD(q + d);
		const vec k0 = widen(k + d);
		a0_0 += q0 * k0;
		const vec k1 = widen(k + d + 16);
		a0_1 += q0 * k1;
	}
	float sums[8] __attribute__((aligned(64)));
	const vec none = { 0 };
	const vec s0_1_0 = MIX(a0_0, a0_1, 0, 8, 1, 9, 4, 12, 5, 13) + MIX(a0_0, a0_1, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec s0_2_0 = MIX(s0_1_0, none, 0, 1, 8, 9, 4, 5, 12, 13) + MIX(s0_1_0, none, 2, 3, 10, 11, 6, 7, 14, 15);
	const vec s0_4_0 = MIX(s0_2_0, none, 0, 1, 2, 3, 8, 9, 10, 11) + MIX(s0_2_0, none, 4, 5, 6, 7, 12, 13, 14, 15);
	STORE(sums + 0, s0_4_0);
	for (int64_t r = 0; r < 1; r++)
		memcpy(to + r * ld, sums + r * DOTS, DOTS * sizeof(float));
}

// Adds n values, times the weights w of 1 rows, to 1 vectors of the sums.
static NOINLINE void add_1(const float *w, int64_t ld, int64_t n, const kv *v, float *to)
{
	vec a0_0 = LOAD(to + 0 * HEAD);
	int64_t j = 0;
	for (; j + 1 <= n; j += 1) {
		const vec v0 = widen(v + j * HEAD);
		const float w0 = w[0 * ld + j];
		a0_0 += w0 * v0;
	}
	STORE(to + 0 * HEAD, a0_0);
}

// Adds the n values of the tile at key j, times the weights of each row, to the sums of the rows.
static void add_values(struct scratch *s, int64_t rows, int64_t j, int64_t n, const kv *v, const float *w, int64_t ld)
{
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_1(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v, s->sums + r * HEAD);
	}
	for (int64_t r = 0; r < rows; r += ROWS) {
		add_1(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), v + 8, s->sums + r * HEAD + 8);
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
static void block(const struct call *c, struct scratch *s, int64_t unit, int64_t tile, int64_t from, int64_t to, struct part *part)
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
	memcpy(part->sums, s->sums, n * HEAD * sizeof(float));
	memcpy(part->top, s->top, n * sizeof(float));
	memcpy(part->sum, s->sum, n * sizeof(float));
}

// merge adds up what the parts of the context gave a tile of rows, relative to the largest score of all.
static void merge(const struct call *c, int64_t unit, int64_t tile, const struct part *parts)
{
	const int64_t row = tile * TILE_ROWS, n = least(TILE_ROWS, c->queries * TOGETHER - row);
	for (int64_t r = 0; r < n; r++) {
		const int64_t i = (row + r) / TOGETHER, h = unit * TOGETHER + (row + r) % TOGETHER;
		float *out = c->out + (i * c->heads + h) * HEAD;
		float top = parts[0].top[r], sum = 0, weights[PARTS];
		for (int64_t p = 1; p < PARTS; p++)
			top = parts[p].top[r] > top ? parts[p].top[r] : top;
		for (int64_t p = 0; p < PARTS; p++) {
			weights[p] = scale(parts[p].top[r] - top);
			sum += weights[p] * parts[p].sum[r];
		}
		for (int64_t d = 0; d < HEAD; d += LANES) {
			vec v = { 0 };
			for (int64_t p = 0; p < PARTS; p++)
				v += LOAD(parts[p].sums + r * HEAD + d) * weights[p];
			STORE(out + d, v / sum);
		}
	}
}

static void task(void *context, int64_t i, int worker)
{
	const struct call *c = context;
	struct scratch *s = (struct scratch *)(c->memory + worker * c->bytes);
	const int64_t tiles = (c->context + TILE_KEYS - 1) / TILE_KEYS, each = (tiles + PARTS - 1) / PARTS * TILE_KEYS;
	const int64_t from = i % PARTS * each;
	block(c, s, i / PARTS / c->row_tiles, i / PARTS % c->row_tiles, from, least(c->context, from + each), c->parts + i);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { .q = args[0], .k = args[1], .v = args[2], .out = args[3], .queries = dims[0], .context = dims[1], .heads = dims[2] };
	c.row_tiles = (c.queries * TOGETHER + TILE_ROWS - 1) / TILE_ROWS;
	c.bytes = sizeof(struct scratch);
	struct scratch_small small;
	c.bytes = (c.bytes + 4095) / 4096 * 4096;
	const int64_t tiles = c.heads / TOGETHER * c.row_tiles;
	c.memory = reserve(&small, CREW_WORKERS * c.bytes + tiles * PARTS * sizeof(struct part));
	c.parts = (struct part *)(c.memory + CREW_WORKERS * c.bytes);
	parallel(task, &c, tiles * PARTS);
	for (int64_t i = 0; i < tiles; i++)
		merge(&c, i / c.row_tiles, i % c.row_tiles, c.parts + i * PARTS);
	give_back(&small, c.memory);
}
