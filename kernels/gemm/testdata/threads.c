// form=skinny compiler=gcc opt=O2 mtune=default isa=avx2 vec=32 mr=2 nr=2 depth=1 ku=4 kc=64 pack_x=false tail=masked ahead=0 workers=2 chunk=4 dynamic=true spin=10
// gcc -O2 -ffp-contract=fast -mavx2 -mfma -pthread -D_GNU_SOURCE
// C = A·Bᵀ, asked for M=4 N=64 K=64 and right for any: args are A, B, C and dims M, N, K.
typedef long i64;
typedef float vec __attribute__((vector_size(32)));
typedef float vec_any __attribute__((vector_size(32), aligned(4), may_alias)); // as it lies in memory

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
#if defined __AVX512VL__ && HAS(__builtin_ia32_loadups256_mask) && HAS(__builtin_ia32_storeups256_mask)
static inline vec load_part(const float *p, i64 n) {
	return __builtin_ia32_loadups256_mask((const void *)p, (vec){0}, (unsigned char)((1u << n) - 1));
}
static inline void store_part(float *p, vec v, i64 n) {
	__builtin_ia32_storeups256_mask((void *)p, v, (unsigned char)((1u << n) - 1));
}
#elif defined __AVX__ && HAS(__builtin_ia32_maskloadps256) && HAS(__builtin_ia32_maskstoreps256)
typedef int ivec __attribute__((vector_size(32)));
static inline ivec first(i64 n) { return ((ivec){0, 1, 2, 3, 4, 5, 6, 7} < (int)n); }
static inline vec load_part(const float *p, i64 n) { return __builtin_ia32_maskloadps256((const void *)p, first(n)); }
static inline void store_part(float *p, vec v, i64 n) { __builtin_ia32_maskstoreps256((void *)p, first(n), v); }
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
	char none;
};

// The sum of the lanes.
static inline float sum(vec v) {
#if HAS(__builtin_shufflevector)
	v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
	v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
	v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
	return v[0];
#else
	float t = 0;
	for (int l = 0; l < 8; l++) t += v[l];
	return t;
#endif
}

typedef float quad __attribute__((vector_size(16)));

// The sums of the lanes of each.
static inline quad sums(vec a, vec b, vec c, vec d) {
#if HAS(__builtin_shufflevector)
	const vec ab = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) + __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec cd = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13) + __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
	const vec all = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) + __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
	return __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7);
#else
	return (quad){sum(a), sum(b), sum(c), sum(d)};
#endif
}

// Adds to C, or stores there, the dot products of 2 rows of X and 2 of Y.
static NOINLINE void dot_2x2(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0_0 = {0};
	vec c0_1_0 = {0};
	vec c1_0_0 = {0};
	vec c1_1_0 = {0};
#define STEP(u, d) { \
		vec y0 = LOAD(y + 0 * ldy + (u) * 8); \
		vec y1 = LOAD(y + 1 * ldy + (u) * 8); \
		vec x0 = LOAD(x + 0 * ldx + (u) * 8); \
		c0_0_##d += x0 * y0; \
		c0_1_##d += x0 * y1; \
		vec x1 = LOAD(x + 1 * ldx + (u) * 8); \
		c1_0_##d += x1 * y0; \
		c1_1_##d += x1 * y1; \
	}
	for (; k >= 32; k -= 32) {
		STEP(0, 0)
		STEP(1, 0)
		STEP(2, 0)
		STEP(3, 0)
		x += 32;
		y += 32;
	}
	for (; k >= 8; k -= 8) {
		STEP(0, 0)
		x += 8;
		y += 8;
	}
#undef STEP
#define LAST(u, d) { \
		vec y0 = load_part(y + 0 * ldy + (u) * 8, k); \
		vec y1 = load_part(y + 1 * ldy + (u) * 8, k); \
		vec x0 = load_part(x + 0 * ldx + (u) * 8, k); \
		c0_0_##d += x0 * y0; \
		c0_1_##d += x0 * y1; \
		vec x1 = load_part(x + 1 * ldx + (u) * 8, k); \
		c1_0_##d += x1 * y0; \
		c1_1_##d += x1 * y1; \
	}
	if (k > 0) LAST(0, 0)
#undef LAST
	const quad q0 = sums(c0_0_0, c0_1_0, c1_0_0, c1_1_0);
	float s0_0 = q0[0];
	c[0 * ldc + 0] = add ? c[0 * ldc + 0] + s0_0 : s0_0;
	float s0_1 = q0[1];
	c[0 * ldc + 1] = add ? c[0 * ldc + 1] + s0_1 : s0_1;
	float s1_0 = q0[2];
	c[1 * ldc + 0] = add ? c[1 * ldc + 0] + s1_0 : s1_0;
	float s1_1 = q0[3];
	c[1 * ldc + 1] = add ? c[1 * ldc + 1] + s1_1 : s1_1;
}

// Adds to C, or stores there, the dot products of 2 rows of X and 1 of Y.
static NOINLINE void dot_2x1(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0_0 = {0};
	vec c1_0_0 = {0};
#define STEP(u, d) { \
		vec y0 = LOAD(y + 0 * ldy + (u) * 8); \
		vec x0 = LOAD(x + 0 * ldx + (u) * 8); \
		c0_0_##d += x0 * y0; \
		vec x1 = LOAD(x + 1 * ldx + (u) * 8); \
		c1_0_##d += x1 * y0; \
	}
	for (; k >= 32; k -= 32) {
		STEP(0, 0)
		STEP(1, 0)
		STEP(2, 0)
		STEP(3, 0)
		x += 32;
		y += 32;
	}
	for (; k >= 8; k -= 8) {
		STEP(0, 0)
		x += 8;
		y += 8;
	}
#undef STEP
#define LAST(u, d) { \
		vec y0 = load_part(y + 0 * ldy + (u) * 8, k); \
		vec x0 = load_part(x + 0 * ldx + (u) * 8, k); \
		c0_0_##d += x0 * y0; \
		vec x1 = load_part(x + 1 * ldx + (u) * 8, k); \
		c1_0_##d += x1 * y0; \
	}
	if (k > 0) LAST(0, 0)
#undef LAST
	const quad q0 = sums(c0_0_0, c1_0_0, c1_0_0, c1_0_0);
	float s0_0 = q0[0];
	c[0 * ldc + 0] = add ? c[0 * ldc + 0] + s0_0 : s0_0;
	float s1_0 = q0[1];
	c[1 * ldc + 0] = add ? c[1 * ldc + 0] + s1_0 : s1_0;
}

// Adds to C, or stores there, the dot products of 1 rows of X and 2 of Y.
static NOINLINE void dot_1x2(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0_0 = {0};
	vec c0_1_0 = {0};
#define STEP(u, d) { \
		vec x0 = LOAD(x + 0 * ldx + (u) * 8); \
		vec y0 = LOAD(y + 0 * ldy + (u) * 8); \
		c0_0_##d += x0 * y0; \
		vec y1 = LOAD(y + 1 * ldy + (u) * 8); \
		c0_1_##d += x0 * y1; \
	}
	for (; k >= 32; k -= 32) {
		STEP(0, 0)
		STEP(1, 0)
		STEP(2, 0)
		STEP(3, 0)
		x += 32;
		y += 32;
	}
	for (; k >= 8; k -= 8) {
		STEP(0, 0)
		x += 8;
		y += 8;
	}
#undef STEP
#define LAST(u, d) { \
		vec x0 = load_part(x + 0 * ldx + (u) * 8, k); \
		vec y0 = load_part(y + 0 * ldy + (u) * 8, k); \
		c0_0_##d += x0 * y0; \
		vec y1 = load_part(y + 1 * ldy + (u) * 8, k); \
		c0_1_##d += x0 * y1; \
	}
	if (k > 0) LAST(0, 0)
#undef LAST
	const quad q0 = sums(c0_0_0, c0_1_0, c0_1_0, c0_1_0);
	float s0_0 = q0[0];
	c[0 * ldc + 0] = add ? c[0 * ldc + 0] + s0_0 : s0_0;
	float s0_1 = q0[1];
	c[0 * ldc + 1] = add ? c[0 * ldc + 1] + s0_1 : s0_1;
}

// Adds to C, or stores there, the dot products of 1 rows of X and 1 of Y.
static NOINLINE void dot_1x1(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add) {
	vec c0_0_0 = {0};
#define STEP(u, d) { \
		vec y0 = LOAD(y + 0 * ldy + (u) * 8); \
		vec x0 = LOAD(x + 0 * ldx + (u) * 8); \
		c0_0_##d += x0 * y0; \
	}
	for (; k >= 32; k -= 32) {
		STEP(0, 0)
		STEP(1, 0)
		STEP(2, 0)
		STEP(3, 0)
		x += 32;
		y += 32;
	}
	for (; k >= 8; k -= 8) {
		STEP(0, 0)
		x += 8;
		y += 8;
	}
#undef STEP
#define LAST(u, d) { \
		vec y0 = load_part(y + 0 * ldy + (u) * 8, k); \
		vec x0 = load_part(x + 0 * ldx + (u) * 8, k); \
		c0_0_##d += x0 * y0; \
	}
	if (k > 0) LAST(0, 0)
#undef LAST
	float s0_0 = sum(c0_0_0);
	c[0 * ldc + 0] = add ? c[0 * ldc + 0] + s0_0 : s0_0;
}

// The m by n result of dot products, read once for each 4 rows of X.
static NOINLINE void product(struct scratch *s, i64 m, i64 n, i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc) {
	for (i64 h = 0; h < m; h += 4) {
		const i64 hb = least(4, m - h);
		for (i64 p = 0; p < k; p += 64) {
			const i64 pb = least(64, k - p);
			i64 j = 0;
			for (; n - j >= 2; j += 2) {
				i64 i = 0;
				for (; hb - i >= 2; i += 2) {
					dot_2x2(pb, x + (h + i) * ldx + p, ldx, y + j * ldy + p, ldy, c + (h + i) * ldc + j, ldc, p > 0);
				}
				for (; hb - i >= 1; i += 1) {
					dot_1x2(pb, x + (h + i) * ldx + p, ldx, y + j * ldy + p, ldy, c + (h + i) * ldc + j, ldc, p > 0);
				}
			}
			for (; n - j >= 1; j += 1) {
				i64 i = 0;
				for (; hb - i >= 2; i += 2) {
					dot_2x1(pb, x + (h + i) * ldx + p, ldx, y + j * ldy + p, ldy, c + (h + i) * ldc + j, ldc, p > 0);
				}
				for (; hb - i >= 1; i += 1) {
					dot_1x1(pb, x + (h + i) * ldx + p, ldx, y + j * ldy + p, ldy, c + (h + i) * ldc + j, ldc, p > 0);
				}
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
	product(s, i1 - i0, j1 - j0, j.k, j.a + i0 * j.lda, j.lda, j.b + j0 * j.ldb, j.ldb, j.c + i0 * j.n + j0, j.n);
}

#include <pthread.h>
#include <stdint.h>

enum { CREW_WORKERS = 2 };

struct crew_job {
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};
enum { CREW_SPIN = 10000 };

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
	for (uint64_t t = CREW_READ(crew.ticket); CREW_GENERATION(t) == CREW_GENERATION(mine) && CREW_TASKS(t) > 0; t = CREW_READ(crew.ticket))
		if (__atomic_compare_exchange_n(&crew.ticket, &t, t - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			crew_task(worker, (int64_t)CREW_TASKS(t) - 1);
}

struct call {
	struct job j;
	struct scratch *scratch; // of each worker
	i64 share; // rows or columns of a task
};

static void task(void *context, int64_t number, int worker) {
	const struct call *c = context;
	const i64 from = number * c->share;
	part(c->scratch + worker, c->j, 0, c->j.m, from, least(c->j.n, from + c->share));
}

void tune_kernel(void *const *args, const i64 *dims) {
	struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[2], dims[2]};
	struct scratch scratch[CREW_WORKERS];
	struct call c = {j, scratch, 8};
	parallel(task, &c, (j.n + c.share - 1) / c.share);
}
