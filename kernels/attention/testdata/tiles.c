// form=tiles compiler=gcc opt=O3 key_tile=64 degree=3 row_tiles=2 scores=beside query_tile=64 together=2 workers=2 hand_out=static start=pool spin=1000
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mavx512vnni -mavx512bf16 -mamx-tile -mamx-bf16 -pthread -D_GNU_SOURCE
// attention over bf16 keys and values: form=tiles compiler=gcc opt=O3 key_tile=64 degree=3 row_tiles=2 scores=beside query_tile=64 together=2 workers=2 hand_out=static start=pool spin=1000
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
	HEAD = 80,   // numbers of a query, key or value
	GROUP = 2, // query heads of a kv head
	LANES = 16,
	ROWS = 32,          // of a micro-tile; a row is a query of one head
	TILE_ROWS = 64, // of a tile
	TILE_KEYS = 64,
	TOGETHER = 2, // query heads that are tiled together
	UNITS = 1,       // sets of such heads of a kv head
	STEP = 32,                // numbers of a row of a matrix tile
	WORDS = 256,              // of a matrix tile, which has 16 rows
	DEPTH = 3,               // matrix tiles along a query or key
	COLUMNS = HEAD / LANES,   // matrix tiles along a value
	LD = TILE_KEYS + 16,      // distance of rows of scores
};

// Scores are multiplied by this. They are then logarithms to base 2.
static const float factor = 0x1.4a56b8p-03f;

typedef uint16_t kv; // an element of keys and values, bf16

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


/* Matrix tiles: eight registers, tmm0 to tmm7, of up to 16 rows of up to 64 bytes. Each function takes the number of a register, 0 to 7,
   as a literal. With TUNE_EMULATED_TILES they do in plain C what the instructions do [Intel 64 and IA-32 Architectures Software
   Developer's Manual, volume 2], and abort where an instruction would fault. */
struct tile_configuration {
	uint8_t palette, start, reserved[14];
	uint16_t columns[16]; // bytes of a row of each register
	uint8_t rows[16];
};

#ifndef TUNE_EMULATED_TILES

/* tile_ask asks the system to let this process use tiles: arch_prctl, ARCH_REQ_XCOMP_PERM, the state of tiles. */
static void tile_ask(void)
{
	static int asked;
	if (__atomic_load_n(&asked, __ATOMIC_RELAXED))
		return;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
	__atomic_store_n(&asked, 1, __ATOMIC_RELAXED);
}

static inline void tile_configure(const struct tile_configuration *c)
{
	tile_ask();
	__asm__ volatile("ldtilecfg %0" :: "m"(*c) : "memory");
}

static inline void tile_save(struct tile_configuration *c)
{
	tile_ask();
	__asm__ volatile("sttilecfg %0" : "=m"(*c) :: "memory");
}

#define tile_release() __asm__ volatile("tilerelease" ::: "memory")
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t ::: "memory")
#define tile_load(t, from, stride) \
	__asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t :: "r"(from), "r"((int64_t)(stride)) : "memory")
#define tile_store(t, to, stride) \
	__asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" :: "r"(to), "r"((int64_t)(stride)) : "memory")
#define TILE_DOT(instruction, c, a, b) \
	__asm__ volatile(instruction " %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::: "memory")
#define tile_dot_bf16(c, a, b) TILE_DOT("tdpbf16ps", c, a, b)
#define tile_dot_ss(c, a, b) TILE_DOT("tdpbssd", c, a, b)
#define tile_dot_su(c, a, b) TILE_DOT("tdpbsud", c, a, b)
#define tile_dot_us(c, a, b) TILE_DOT("tdpbusd", c, a, b)
#define tile_dot_uu(c, a, b) TILE_DOT("tdpbuud", c, a, b)

#else

#include <math.h>
#include <stdlib.h>

static __thread struct {
	struct tile_configuration c;
	uint8_t data[8][16][64];
} tiles;

static inline void tile_need(int holds)
{
	if (!holds)
		abort();
}

static inline void tile_release(void)
{
	__builtin_memset(&tiles, 0, sizeof tiles);
}

static inline void tile_save(struct tile_configuration *c)
{
	*c = tiles.c; // of zeros where there is none
}

static inline void tile_configure(const struct tile_configuration *c)
{
	tile_need(c->palette <= 1);
	tile_release();
	if (c->palette == 0)
		return;
	for (int i = 0; i < 14; i++)
		tile_need(c->reserved[i] == 0);
	for (int t = 0; t < 16; t++) {
		tile_need(c->rows[t] <= 16 && c->columns[t] <= 64 && !c->rows[t] == !c->columns[t]);
		tile_need(t < 8 || c->rows[t] == 0);
	}
	tiles.c = *c;
}

/* A register that is used is configured. */
static inline void tile_used(int t)
{
	tile_need(tiles.c.palette == 1 && tiles.c.rows[t] > 0);
}

static inline void tile_zero(int t)
{
	tile_used(t);
	__builtin_memset(tiles.data[t], 0, sizeof tiles.data[t]);
}

static inline void tile_load(int t, const void *from, int64_t stride)
{
	tile_zero(t);
	for (int r = 0; r < tiles.c.rows[t]; r++)
		__builtin_memcpy(tiles.data[t][r], (const uint8_t *)from + r * stride, tiles.c.columns[t]);
}

static inline void tile_store(int t, void *to, int64_t stride)
{
	tile_used(t);
	for (int r = 0; r < tiles.c.rows[t]; r++)
		__builtin_memcpy((uint8_t *)to + r * stride, tiles.data[t][r], tiles.c.columns[t]);
}

/* The sizes that products need: a row of a has as many words as b has rows. */
static inline void tile_fit(int c, int a, int b)
{
	tile_used(c);
	tile_used(a);
	tile_used(b);
	tile_need(c != a && c != b && a != b);
	tile_need(tiles.c.columns[c] % 4 == 0 && tiles.c.columns[a] % 4 == 0 && tiles.c.columns[b] % 4 == 0);
	tile_need(tiles.c.rows[c] == tiles.c.rows[a] && tiles.c.columns[c] == tiles.c.columns[b]);
	tile_need(tiles.c.columns[a] / 4 == tiles.c.rows[b]);
}

/* Subnormal numbers count as zeros, and become zeros. */
static inline float tile_flushed(float x)
{
	return x > -0x1p-126f && x < 0x1p-126f ? copysignf(0.0f, x) : x;
}

static inline float tile_bf16(const uint8_t *row, int i)
{
	uint16_t bits;
	__builtin_memcpy(&bits, row + 2 * i, 2);
	union { uint32_t i; float f; } u = { .i = (uint32_t)bits << 16 };
	return tile_flushed(u.f);
}

/* Products of the two elements of each word have sums of their own, which are added at the end. */
static inline void tile_dot_bf16(int c, int a, int b)
{
	tile_fit(c, a, b);
	for (int m = 0; m < tiles.c.rows[c]; m++) {
		float row[16], even[16] = { 0 }, odd[16] = { 0 };
		const int columns = tiles.c.columns[c] / 4;
		for (int k = 0; k < tiles.c.columns[a] / 4; k++)
			for (int n = 0; n < columns; n++) {
				even[n] = tile_flushed(fmaf(tile_bf16(tiles.data[a][m], 2 * k), tile_bf16(tiles.data[b][k], 2 * n), even[n]));
				odd[n] = tile_flushed(fmaf(tile_bf16(tiles.data[a][m], 2 * k + 1), tile_bf16(tiles.data[b][k], 2 * n + 1), odd[n]));
			}
		__builtin_memcpy(row, tiles.data[c][m], 4 * columns);
		for (int n = 0; n < columns; n++)
			row[n] = tile_flushed(tile_flushed(row[n]) + tile_flushed(even[n] + odd[n]));
		__builtin_memcpy(tiles.data[c][m], row, 4 * columns);
	}
}

/* Sums of integers wrap around. */
#define TILE_DOT_BYTES(name, a_type, b_type) \
static inline void name(int c, int a, int b) \
{ \
	tile_fit(c, a, b); \
	for (int m = 0; m < tiles.c.rows[c]; m++) \
		for (int n = 0; n < tiles.c.columns[c] / 4; n++) { \
			uint32_t sum; \
			__builtin_memcpy(&sum, &tiles.data[c][m][4 * n], 4); \
			for (int k = 0; k < tiles.c.columns[a] / 4; k++) \
				for (int i = 0; i < 4; i++) \
					sum += (uint32_t)((a_type)tiles.data[a][m][4 * k + i] * (b_type)tiles.data[b][k][4 * n + i]); \
			__builtin_memcpy(&tiles.data[c][m][4 * n], &sum, 4); \
		} \
}
TILE_DOT_BYTES(tile_dot_ss, int8_t, int8_t)
TILE_DOT_BYTES(tile_dot_su, int8_t, uint8_t)
TILE_DOT_BYTES(tile_dot_us, uint8_t, int8_t)
TILE_DOT_BYTES(tile_dot_uu, uint8_t, uint8_t)

#endif

/* A program may keep a configuration of its own on a thread. What its registers hold is lost, as in any call of a function. */
static inline void tile_restore(const struct tile_configuration *c)
{
	if (c->palette)
		tile_configure(c);
	else
		tile_release();
}

typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef uint32_t uvec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t uvec_memory __attribute__((vector_size(64), aligned(2), may_alias));
typedef uint16_t half __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint32_t word __attribute__((may_alias)); // two elements of a matrix tile

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

// larger returns the larger of two numbers in each lane.
static inline vec larger(vec a, vec b)
{
#if defined(__AVX512F__)
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

// first returns the first n lanes of v, which may be none or all, and those of other behind them.
static inline vec first(vec v, int64_t n, float other)
{
	const ivec lanes = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, in = lanes < (int32_t)(n < 0 ? 0 : least(n, LANES));
	return (vec)(((ivec)v & in) | ((ivec)((vec){ 0 } + other) & ~in));
}

// 2 to the power of x, which is at most 0: 2^n times a polynomial in x - n, which is off by 7e-05 of it.
static inline vec power(vec x)
{
	x = larger(x, (vec){ 0 } + -120.0f);
	const vec t = x + 0x1.8p23f; // the integer is in the low bits
	const vec f = x - (t - 0x1.8p23f);
	const vec y = (((0x1.c3f76p-05f) * f + 0x1.f0de1ap-03f) * f + 0x1.62f31ap-01f) * f + 0x1.fff692p-01f;
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
	int64_t row_tiles;   // of a unit of heads
	char *memory;        // of the workers
	int64_t bytes;       // of one of them
	word *keys, *values; // in matrix tiles
	int64_t key_words, value_words; // of a kv head
};

// scratch is the memory of a worker for a tile of rows.
struct scratch {
	word q[TILE_ROWS / 16 * DEPTH * WORDS] __attribute__((aligned(64))); // matrix tiles
	float sums[TILE_ROWS * HEAD] __attribute__((aligned(64)));           // of weighted values
	vec sum[TILE_ROWS];      // of the weights; the sum is that of all lanes
	float top[TILE_ROWS];    // the largest score so far
	int64_t seen[TILE_ROWS]; // keys that a row sees; not fewer than the row before
	float *to[TILE_ROWS];    // the results
	float scores[2 * ROWS * LD] __attribute__((aligned(64)));
	word weights[ROWS / 16 * (TILE_KEYS / STEP) * WORDS] __attribute__((aligned(64))); // matrix tiles
};

// micro is a micro-tile of rows, from r on, and n keys from key j on; it is none where n is 0.
struct micro {
	int64_t r, j, n;
};

// find returns the first micro-tile from a row and a key on that has keys which a row of it sees.
static struct micro find(const struct scratch *s, int64_t rows, int64_t end, int64_t r, int64_t j)
{
	for (; j < end; j += TILE_KEYS, r = 0)
		for (; r < rows; r += ROWS) {
			const int64_t n = least(TILE_KEYS, least(end, s->seen[r + ROWS - 1]) - j);
			if (n > 0)
				return (struct micro){ r, j, n };
		}
	return (struct micro){ 0, 0, 0 };
}

// scoring are the scores of a micro-tile in the making: how many parts are left, and which one of a step of keys comes next.
struct scoring {
	const word *q, *k;
	float *to;
	int64_t left, d;
};

static struct scoring scoring(const struct scratch *s, struct micro m, const word *keys, float *to)
{
	return (struct scoring){ s->q + m.r / 16 * DEPTH * WORDS, keys + m.j / STEP * 2 * DEPTH * WORDS, to, (m.n + STEP - 1) / STEP * DEPTH, 0 };
}

// configure configures the matrix tiles of this thread, and notes what they were.
static void configure(struct tile_configuration *callers)
{
	struct tile_configuration sizes = { .palette = 1 };
	tile_save(callers);
	for (int t = 0; t < 8; t++) {
		sizes.columns[t] = 64;
		sizes.rows[t] = 16;
	}
	tile_configure(&sizes);
}

// Writes a matrix tile of 16 words of each of 16 keys, which are stride numbers apart: word by word.
static inline void transpose(const kv *k, int64_t stride, word *to)
{
	const vec r0 = LOAD(k + 0 * stride);
	const vec r1 = LOAD(k + 1 * stride);
	const vec r2 = LOAD(k + 2 * stride);
	const vec r3 = LOAD(k + 3 * stride);
	const vec r4 = LOAD(k + 4 * stride);
	const vec r5 = LOAD(k + 5 * stride);
	const vec r6 = LOAD(k + 6 * stride);
	const vec r7 = LOAD(k + 7 * stride);
	const vec r8 = LOAD(k + 8 * stride);
	const vec r9 = LOAD(k + 9 * stride);
	const vec r10 = LOAD(k + 10 * stride);
	const vec r11 = LOAD(k + 11 * stride);
	const vec r12 = LOAD(k + 12 * stride);
	const vec r13 = LOAD(k + 13 * stride);
	const vec r14 = LOAD(k + 14 * stride);
	const vec r15 = LOAD(k + 15 * stride);
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
	STORE(to + 0, s8_0_0);
	STORE(to + 64, s8_0_1);
	STORE(to + 128, s8_0_2);
	STORE(to + 192, s8_0_3);
	STORE(to + 16, s8_0_4);
	STORE(to + 80, s8_0_5);
	STORE(to + 144, s8_0_6);
	STORE(to + 208, s8_0_7);
	STORE(to + 32, s8_0_8);
	STORE(to + 96, s8_0_9);
	STORE(to + 160, s8_0_10);
	STORE(to + 224, s8_0_11);
	STORE(to + 48, s8_0_12);
	STORE(to + 112, s8_0_13);
	STORE(to + 176, s8_0_14);
	STORE(to + 240, s8_0_15);
}

// pack_keys writes n keys to matrix tiles of 16 keys, whose rows have two numbers of each. What a whole step lacks is zero.
static NOINLINE void pack_keys(const kv *k, int64_t n, word *to)
{
	for (int64_t j = 0; j < (n + STEP - 1) / STEP * STEP; j += LANES)
		for (int64_t d = 0; d < HEAD; d += STEP, to += WORDS) {
			if (j + LANES <= n && d + STEP <= HEAD) {
				transpose(k + j * HEAD + d, HEAD, to);
				continue;
			}
			kv part[LANES * STEP] = { 0 };
			for (int64_t i = 0; i < LANES && j + i < n; i++)
				memcpy(part + i * STEP, k + (j + i) * HEAD + d, least(STEP, HEAD - d) * sizeof(kv));
			transpose(part, STEP, to);
		}
}

// pack_values writes n values to matrix tiles of 16 columns, a step of values after the other. What a whole step lacks is zero.
static NOINLINE void pack_values(const kv *v, int64_t n, word *to)
{
	for (int64_t j = 0; j < n; j += STEP)
		for (int64_t d = 0; d < HEAD; d += LANES)
			for (int64_t i = 0; i < STEP / 2; i++, to += LANES) {
				uvec pair = { 0 };
				if (j + i < n)
					pair = __builtin_convertvector(*(const half *)(v + (j + i) * HEAD + d), uvec);
				if (j + i + STEP / 2 < n)
					pair |= __builtin_convertvector(*(const half *)(v + (j + i + STEP / 2) * HEAD + d), uvec) << 16;
				*(uvec_memory *)to = pair;
			}
}

// rounded_bits rounds numbers to bfloat16, to the nearest, of which a tie is even.
static inline uvec rounded_bits(vec x)
{
	const uvec u = (uvec)x;
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

// take rounds the queries of the rows from `row` on to matrix tiles, and returns how many rows the tile has, up to a whole micro-tile. Rows
// beyond the last one are zero. Rows are ordered by query, and by head within it.
static int64_t take(const struct call *c, struct scratch *s, int64_t unit, int64_t row)
{
	const int64_t n = least(TILE_ROWS, c->queries * TOGETHER - row), rows = (n + ROWS - 1) / ROWS * ROWS;
	for (int64_t r = 0; r < rows; r++) {
		const int64_t i = (row + least(r, n - 1)) / TOGETHER, h = unit * TOGETHER + (row + least(r, n - 1)) % TOGETHER;
		const float *from = c->q + (h * c->queries + i) * HEAD;
		s->to[r] = c->out + (i * c->heads + h) * HEAD;
		word *to = s->q + r / 16 * DEPTH * WORDS + r % 16 * 16;
		for (int64_t d = 0; d < HEAD; d += STEP, to += WORDS) {
			half numbers[2] = { { 0 } };
			for (int64_t e = 0; r < n && e < 2 && d + e * LANES < HEAD; e++)
				numbers[e] = __builtin_convertvector(rounded_bits(LOAD(from + d + e * LANES)), half);
			memcpy(to, numbers, sizeof numbers);
		}
		s->seen[r] = c->context - c->queries + i + 1;
		s->top[r] = -__builtin_inff();
		s->sum[r] = (vec){ 0 };
	}
	memset(s->sums, 0, rows * HEAD * sizeof(float));
	return rows;
}

// Makes a part of scores: the products of a matrix tile of each query, and of each key of a step. After the last part of a step, its scores
// are stored. The sums stay in matrix tiles from part to part.
static inline void score_part(struct scoring *c)
{
	if (c->d == 0) {
		tile_zero(0);
		tile_zero(1);
		tile_zero(2);
		tile_zero(3);
	}
	const word *q = c->q + c->d * WORDS, *k = c->k + c->d * WORDS;
	tile_load(4, q + 0 * WORDS, 64);
	tile_load(5, q + 3 * WORDS, 64);
	tile_load(6, k + 0 * WORDS, 64);
	tile_dot_bf16(0, 4, 6);
	tile_dot_bf16(2, 5, 6);
	tile_load(7, k + 3 * WORDS, 64);
	tile_dot_bf16(1, 4, 7);
	tile_dot_bf16(3, 5, 7);
	c->left--;
	if (++c->d == DEPTH) {
		tile_store(0, c->to + 0 * LD + 0, 4 * LD);
		tile_store(1, c->to + 0 * LD + 16, 4 * LD);
		tile_store(2, c->to + 16 * LD + 0, 4 * LD);
		tile_store(3, c->to + 16 * LD + 16, 4 * LD);
		c->d = 0;
		c->k += 2 * DEPTH * WORDS;
		c->to += STEP;
	}
}

// pair returns the words of two vectors of weights, rounded to bfloat16.
static inline uvec pair(vec a, vec b)
{
	return ((uvec)a + 0x8000) >> 16 | (((uvec)b + 0x8000) & 0xffff0000);
}

// weigh turns the scores of a micro-tile into weights, relative to the largest score of the row so far. Where that has grown, the sums
// so far are multiplied by what their weights are less now. Keys that only other rows of the micro-tile see get the weight 0. The
// scores of the next one are made between the rows: they keep another unit of the processor busy.
static NOINLINE void weigh(struct scratch *s, struct micro m, const float *scores, struct scoring next)
{
	const int64_t parts = next.left;
	for (int64_t r = 0; r < ROWS; r++) {
		while (parts - next.left < (r + 1) * parts / ROWS)
			score_part(&next);
		const int64_t row = m.r + r, seen = least(m.n, s->seen[row] - m.j);
		const float *x = scores + r * LD;
		vec largest = (vec){ 0 } - __builtin_inff();
		int64_t i = 0;
		for (; i + LANES <= seen; i += LANES)
			largest = larger(largest, LOAD(x + i));
		if (i < seen)
			largest = larger(largest, first(LOAD(x + i), seen - i, -__builtin_inff()));
		largest = all_largest(largest) * factor;
		const float most = largest[0];
		if (most > s->top[row]) {
			const float less = scale(s->top[row] - most);
			for (int64_t d = 0; d < HEAD; d += LANES)
				STORE(s->sums + row * HEAD + d, LOAD(s->sums + row * HEAD + d) * less);
			s->sum[row] *= less;
			s->top[row] = most;
		}
		const float top = s->top[row];
		vec sum = s->sum[row];
		word *w = s->weights + r / 16 * (TILE_KEYS / STEP) * WORDS + r % 16 * 16;
		for (i = 0; i + STEP <= seen; i += STEP, w += WORDS) {
			const vec a = power(LOAD(x + i) * factor - top), b = power(LOAD(x + i + LANES) * factor - top);
			sum += a + b;
			*(uvec_memory *)w = pair(a, b);
		}
		for (; i < m.n; i += STEP, w += WORDS) {
			const vec a = first(power(LOAD(x + i) * factor - top), seen - i, 0);
			const vec b = first(power(LOAD(x + i + LANES) * factor - top), seen - i - LANES, 0);
			sum += a + b;
			*(uvec_memory *)w = pair(a, b);
		}
		s->sum[row] = sum;
	}
}

// Adds n values, up to a whole step, times the weights w of 32 rows, to the sums of the rows.
static NOINLINE void add_values(const word *w, const word *v, float *to, int64_t n)
{
	tile_load(0, to + 0 * HEAD + 0, 4 * HEAD);
	tile_load(1, to + 0 * HEAD + 16, 4 * HEAD);
	tile_load(2, to + 16 * HEAD + 0, 4 * HEAD);
	tile_load(3, to + 16 * HEAD + 16, 4 * HEAD);
	for (int64_t i = 0; i < (n + STEP - 1) / STEP; i++) {
		tile_load(4, w + (0 + i) * WORDS, 64);
		tile_load(5, w + (2 + i) * WORDS, 64);
		tile_load(6, v + (i * COLUMNS + 0) * WORDS, 64);
		tile_dot_bf16(0, 4, 6);
		tile_dot_bf16(2, 5, 6);
		tile_load(7, v + (i * COLUMNS + 1) * WORDS, 64);
		tile_dot_bf16(1, 4, 7);
		tile_dot_bf16(3, 5, 7);
	}
	tile_store(0, to + 0 * HEAD + 0, 4 * HEAD);
	tile_store(1, to + 0 * HEAD + 16, 4 * HEAD);
	tile_store(2, to + 16 * HEAD + 0, 4 * HEAD);
	tile_store(3, to + 16 * HEAD + 16, 4 * HEAD);
	tile_load(0, to + 0 * HEAD + 32, 4 * HEAD);
	tile_load(1, to + 0 * HEAD + 48, 4 * HEAD);
	tile_load(2, to + 16 * HEAD + 32, 4 * HEAD);
	tile_load(3, to + 16 * HEAD + 48, 4 * HEAD);
	for (int64_t i = 0; i < (n + STEP - 1) / STEP; i++) {
		tile_load(4, w + (0 + i) * WORDS, 64);
		tile_load(5, w + (2 + i) * WORDS, 64);
		tile_load(6, v + (i * COLUMNS + 2) * WORDS, 64);
		tile_dot_bf16(0, 4, 6);
		tile_dot_bf16(2, 5, 6);
		tile_load(7, v + (i * COLUMNS + 3) * WORDS, 64);
		tile_dot_bf16(1, 4, 7);
		tile_dot_bf16(3, 5, 7);
	}
	tile_store(0, to + 0 * HEAD + 32, 4 * HEAD);
	tile_store(1, to + 0 * HEAD + 48, 4 * HEAD);
	tile_store(2, to + 16 * HEAD + 32, 4 * HEAD);
	tile_store(3, to + 16 * HEAD + 48, 4 * HEAD);
	tile_load(0, to + 0 * HEAD + 64, 4 * HEAD);
	tile_load(2, to + 16 * HEAD + 64, 4 * HEAD);
	for (int64_t i = 0; i < (n + STEP - 1) / STEP; i++) {
		tile_load(4, w + (0 + i) * WORDS, 64);
		tile_load(5, w + (2 + i) * WORDS, 64);
		tile_load(6, v + (i * COLUMNS + 4) * WORDS, 64);
		tile_dot_bf16(0, 4, 6);
		tile_dot_bf16(2, 5, 6);
	}
	tile_store(0, to + 0 * HEAD + 64, 4 * HEAD);
	tile_store(2, to + 16 * HEAD + 64, 4 * HEAD);
}

// pack writes keys and values of a kv head from key j on, at most a tile of them, to matrix tiles.
static void pack(const struct call *c, int64_t head, int64_t j, word *keys, word *values)
{
	const int64_t at = (head * c->context + j) * HEAD, n = least(TILE_KEYS, c->context - j);
	pack_keys(c->k + at, n, keys + j / STEP * 2 * DEPTH * WORDS);
	pack_values(c->v + at, n, values + j / STEP * COLUMNS * WORDS);
}

// block computes a tile of rows of a unit of heads.
static void block(const struct call *c, struct scratch *s, int64_t unit, int64_t tile, const word *keys, const word *values)
{
	const int64_t row = tile * TILE_ROWS, rows = take(c, s, unit, row), end = least(c->context, s->seen[rows - 1]);
	struct micro m = find(s, rows, end, 0, 0);
	float *scores = s->scores, *other = s->scores + ROWS * LD;
	struct scoring now = scoring(s, m, keys, scores);
	while (now.left > 0)
		score_part(&now);
	while (m.n > 0) {
		const struct micro next = find(s, rows, end, m.r + ROWS, m.j);
		weigh(s, m, scores, scoring(s, next, keys, other));
		float *const last = scores;
		scores = other;
		other = last;
		add_values(s->weights, values + m.j / STEP * COLUMNS * WORDS, s->sums + m.r * HEAD, m.n);
		m = next;
	}
	const int64_t n = least(TILE_ROWS, c->queries * TOGETHER - row);
	for (int64_t r = 0; r < n; r++) {
		const vec sum = all_sum(s->sum[r]);
		for (int64_t d = 0; d < HEAD; d += LANES)
			STORE(s->to[r] + d, LOAD(s->sums + r * HEAD + d) / sum[0]);
	}
}

// prepare is a task of the first part: a tile of keys of a kv head, and their values.
static void prepare(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct call *c = context;
	const int64_t heads = c->heads / GROUP, head = i % heads;
	pack(c, head, i / heads * TILE_KEYS, c->keys + head * c->key_words, c->values + head * c->value_words);
}

// task is one of the second part: a tile of rows. The last ones see the most keys: they come first.
static void task(void *context, int64_t i, int worker)
{
	const struct call *c = context;
	struct scratch *s = (struct scratch *)(c->memory + worker * c->bytes);
	const int64_t units = c->heads / TOGETHER, unit = i % units, head = unit / UNITS;
	struct tile_configuration callers;
	configure(&callers);
	block(c, s, unit, c->row_tiles - 1 - i / units, c->keys + head * c->key_words, c->values + head * c->value_words);
	tile_restore(&callers);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { .q = args[0], .k = args[1], .v = args[2], .out = args[3], .queries = dims[0], .context = dims[1], .heads = dims[2] };
	const int64_t steps = c.context > 0 ? (c.context + STEP - 1) / STEP : 0;
	c.row_tiles = (c.queries * TOGETHER + TILE_ROWS - 1) / TILE_ROWS;
	c.bytes = (sizeof(struct scratch) + 4095) / 4096 * 4096;
	c.key_words = steps * 2 * DEPTH * WORDS;
	c.value_words = steps * COLUMNS * WORDS;
	const int64_t heads = c.heads / GROUP;
	c.memory = reserve(0, CREW_WORKERS * c.bytes + heads * (c.key_words + c.value_words) * (int64_t)sizeof(word));
	c.keys = (word *)(c.memory + CREW_WORKERS * c.bytes);
	c.values = c.keys + heads * c.key_words;
	parallel(prepare, &c, (steps * STEP + TILE_KEYS - 1) / TILE_KEYS * heads);
	parallel(task, &c, c.heads / TOGETHER * c.row_tiles);
	give_back(0, c.memory);
}
