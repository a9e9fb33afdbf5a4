// unit=tile compiler=gcc opt=O3 mr=2 nr=2 panels=together activations=direct unroll=1 ahead=0 kc=256 mc=0 order=columns nc=0 along=around prepare=ahead passing=no pack=ahead workers=2 split=columns pieces=1 hand_out=static start=pool spin=1000
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-bf16 -pthread -D_GNU_SOURCE
// gemm-bf16, layout=nn, inputs=half, weights=f32: unit=tile compiler=gcc opt=O3 mr=2 nr=2 panels=together activations=direct unroll=1 ahead=0 kc=256 mc=0 order=columns nc=0 along=around prepare=ahead passing=no pack=ahead workers=2 split=columns pieces=1 hand_out=static start=pool spin=1000
#include <stdint.h>
#include <stdlib.h>

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

enum { LANES = 16, MR = 32, NR = 2 * LANES }; // rows and columns of a tile
enum { PANEL = NR }; // columns of a panel
enum { GROUP = 2, WORDS = 1 }; // elements of B along k that stand together, a cell, and words of A that they meet
typedef uint32_t word __attribute__((may_alias));
typedef uint32_t cell __attribute__((may_alias));
typedef uint32_t words __attribute__((vector_size(64)));
typedef uint32_t words_memory __attribute__((vector_size(64), aligned(2), may_alias));
typedef float vec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t shorts __attribute__((vector_size(32)));
typedef uint16_t shorts_memory __attribute__((vector_size(32), aligned(2), may_alias));

// round_vector rounds to 16 bits.
static inline shorts round_vector(vec x)
{
	const words u = (words)x, odd = (words)(x != x);
	const words nearest = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
	return __builtin_convertvector((nearest & ~odd) | (quiet & odd), shorts);
}

// round_all rounds to 16 bits.
static inline void round_all(uint16_t *to, const float *x, int64_t count)
{
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES)
		*(shorts_memory *)(to + i) = round_vector(*(const vec_memory *)(x + i));
	if (i < count) {
		vec last = { 0 };
		__builtin_memcpy(&last, x + i, 4 * (count - i));
		const shorts bits = round_vector(last);
		__builtin_memcpy(to + i, &bits, 2 * (count - i));
	}
}

// words_of makes words of elements of A.
static inline void words_of(word *to, const uint16_t *x, int64_t count)
{
	__builtin_memcpy(to, x, 2 * count);
}

struct job {
	const uint16_t *a;
	const float *b;
	float *c;
	int64_t m, n, k;
	int64_t depth;         // rows of a panel
	int64_t stride;        // words from row to row of A
	int64_t tiles, groups; // of MR rows of A, of the panels of NR columns of B
	int64_t panel, group;  // cells of them
	word *rows;            // A
	cell *packed;          // B
	int direct;            // whether A can be read as it is
};

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

// sides fills in what follows from n and k.
static void sides(struct job *j, int64_t n, int64_t k)
{
	j->n = n;
	j->k = k;
	j->depth = (k + GROUP - 1) / GROUP;
	j->depth = (j->depth + 15) / 16 * 16; // whole matrix tiles
	j->groups = (n + NR - 1) / NR;
	j->panel = j->depth * PANEL;
	j->group = j->depth * NR;
}

static void describe(struct job *j, struct scratch_small *small, void *const *args, const int64_t *dims)
{
	sides(j, dims[1], dims[2]);
	j->a = args[0];
	j->b = args[1];
	j->c = args[2];
	j->m = dims[0];
	j->tiles = (j->m + MR - 1) / MR;
	// An odd number of cache lines keeps the rows of a tile out of each other's sets.
	j->stride = ((j->depth * WORDS + 15) / 16 | 1) * 16;
	j->direct = j->k == j->depth * GROUP;
	const int64_t rows = (j->tiles * MR * j->stride + 15) / 16 * 16;
	j->rows = reserve(small, 4 * rows + j->groups * j->group * (int64_t)sizeof(cell));
	j->packed = (cell *)(j->rows + rows);
}

// prepare_tile copies MR rows of A, or those that there are; others are left as they are, and so will be their products, which
// nobody reads.
static void prepare_tile(const struct job *j, int64_t t)
{
	const int64_t used = (j->k + GROUP - 1) / GROUP * WORDS, all = j->depth * WORDS;
	if (j->direct && ((t + 1) * MR <= j->m))
		return;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++) {
		const uint16_t *x = j->a + (t * MR + r) * j->k;
		word *to = j->rows + (t * MR + r) * j->stride;
		for (int64_t i = used - 1; i < all; i++)
			to[i] = 0; // before the elements, which may fill the first of these in part
		words_of(to, x, j->k);
	}
}

// take rounds elements of B.
static inline void take(uint16_t *to, const float *b, int64_t count)
{
	round_all(to, b, count);
}

// pack_panel arranges PANEL columns of B, the first of which is first. Those that do not exist are zeros.
static void pack_panel(const struct job *j, const float *b, int64_t first, cell *to)
{
	const int64_t n = j->n, k = j->k, left = n - first, columns = left < 0 ? 0 : left < PANEL ? left : PANEL;
	if (columns < PANEL)
		__builtin_memset(to, 0, j->panel * (int64_t)sizeof(cell));
	const int64_t used = (k + GROUP - 1) / GROUP;
	__builtin_memset(to + used * PANEL, 0, (j->depth - used) * PANEL * (int64_t)sizeof(cell));
	for (int64_t l = 0; l < k; l += 2) {
		uint16_t even[PANEL] = { 0 }, odd[PANEL] = { 0 };
		take(even, b + l * n + first, columns);
		if (l + 1 < k)
			take(odd, b + (l + 1) * n + first, columns);
		for (int64_t c = 0; c < PANEL; c++)
			to[l / 2 * PANEL + c] = even[c] | (cell)odd[c] << 16;
	}
}

// pack_group arranges the panels of NR columns.
static inline void pack_group(const struct job *j, const float *b, int64_t p, cell *to)
{
	for (int64_t i = 0; i < NR / PANEL; i++)
		pack_panel(j, b, p * NR + i * PANEL, to + i * j->panel);
}

// fetch reads the sums so far of a tile at an edge.
static void fetch(const struct job *j, int64_t t, int64_t p, float *edge)
{
	const int64_t columns = j->n - p * NR < NR ? j->n - p * NR : NR;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++)
		__builtin_memcpy(edge + r * NR, j->c + (t * MR + r) * j->n + p * NR, 4 * columns);
}

// put writes the results of a tile at an edge.
static void put(const struct job *j, int64_t t, int64_t p, const float *edge)
{
	const int64_t columns = j->n - p * NR < NR ? j->n - p * NR : NR;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++)
		__builtin_memcpy(j->c + (t * MR + r) * j->n + p * NR, edge + r * NR, 4 * columns);
}

// tile multiplies tile t of A with group p of panels, from one row of a panel to another.
static void tile(const struct job *j, int64_t t, int64_t p, const cell *w, int64_t from, int64_t to)
{
	const int64_t rows = j->m - t * MR, columns = j->n - p * NR;
	const word *a = j->rows + t * MR * j->stride;
	int64_t stride = j->stride;
	if (j->direct && rows >= MR) {
		a = (const word *)j->a + t * MR * (j->k / 2);
		stride = j->k / 2;
	}
	float edge[MR * NR], *c = j->c + t * MR * j->n + p * NR;
	int64_t line = j->n;
	const int whole = rows >= MR && columns >= NR;
	if (!whole) {
		c = edge;
		line = NR;
		if (from > 0)
			fetch(j, t, p, edge);
	}
	if (from > 0) {
		tile_load(0, c + 0 * line + 0, 4 * line);
		tile_load(1, c + 0 * line + 16, 4 * line);
		tile_load(2, c + 16 * line + 0, 4 * line);
		tile_load(3, c + 16 * line + 16, 4 * line);
	} else {
		tile_zero(0);
		tile_zero(1);
		tile_zero(2);
		tile_zero(3);
	}
	int64_t g = from;
	for (; g < to; g += 16) {
		tile_load(4, a + 0 * stride + g, 4 * stride);
		tile_load(5, a + 16 * stride + g, 4 * stride);
		tile_load(6, w + g * PANEL + 0 * LANES, 4 * PANEL);
		tile_dot_bf16(0, 4, 6);
		tile_dot_bf16(2, 5, 6);
		tile_load(7, w + g * PANEL + 1 * LANES, 4 * PANEL);
		tile_dot_bf16(1, 4, 7);
		tile_dot_bf16(3, 5, 7);
	}
	tile_store(0, c + 0 * line + 0, 4 * line);
	tile_store(1, c + 0 * line + 16, 4 * line);
	tile_store(2, c + 16 * line + 0, 4 * line);
	tile_store(3, c + 16 * line + 16, 4 * line);
	if (!whole)
		put(j, t, p, edge);
}

// multiply does the tiles from t0 to t1 with the groups of panels from p0 to p1; own is room for a group.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, cell *own)
{
	struct tile_configuration callers, sizes = { .palette = 1 };
	tile_save(&callers);
	for (int t = 0; t < 8; t++) {
		sizes.columns[t] = 64;
		// Those of sums and of A have no more rows than A.
		sizes.rows[t] = t < 6 && j->m < 16 ? (uint8_t)j->m : 16;
	}
	tile_configure(&sizes);
	for (int64_t g = 0; g < j->depth; g += 128) {
		const int64_t end = j->depth - g > 128 ? g + 128 : j->depth;
		for (int64_t p = p0; p < p1; p++)
			for (int64_t t = t0; t < t1; t++)
				tile(j, t, p, j->packed + p * j->group, g, end);
	}
	(void)own;
	tile_restore(&callers);
}

enum { CHUNKS = 2 };

// prepare is a task of the first part: a tile of A, or a group of panels of B.
static void prepare(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct job *j = context;
	if (i < j->tiles) {
		prepare_tile(j, i);
		return;
	}
	pack_group(j, j->b, i - j->tiles, j->packed + (i - j->tiles) * j->group);
}

// chunk is a task of the second part: panels with all tiles, or tiles with all panels.
static void chunk(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct job *j = context;
	multiply(j, 0, j->tiles, j->groups * i / CHUNKS, j->groups * (i + 1) / CHUNKS, j->packed);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	parallel(prepare, j, j->tiles + j->groups);
	parallel(chunk, j, CHUNKS);
	give_back(&small, j->rows);
}
