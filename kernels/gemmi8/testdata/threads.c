// form=packed compiler=gcc opt=O3 isa=generic mr=2 nr=2 unroll=1 kc=0 mc=0 order=columns activations=tiles panels=apart ahead=0 next=no workers=3 split=rows pieces=1 hand_out=dynamic start=pool spin=1000
// gcc -std=gnu11 -O3 -ffp-contract=off -pthread -D_GNU_SOURCE
// gemm-i8, relu=false, weights=packed: form=packed compiler=gcc opt=O3 isa=generic mr=2 nr=2 unroll=1 kc=0 mc=0 order=columns activations=tiles panels=apart ahead=0 next=no workers=3 split=rows pieces=1 hand_out=dynamic start=pool spin=1000
#include <stdint.h>

#include <pthread.h>
#include <stdint.h>

enum { CREW_WORKERS = 3 };

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
	for (uint64_t t = CREW_READ(crew.ticket); CREW_GENERATION(t) == CREW_GENERATION(mine) && CREW_TASKS(t) > 0; t = CREW_READ(crew.ticket))
		if (__atomic_compare_exchange_n(&crew.ticket, &t, t - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			crew_task(worker, (int64_t)CREW_TASKS(t) - 1);
}

enum { LANES = 4, GROUP = 2, MR = 2, NR = 2 * LANES };
typedef uint32_t word __attribute__((may_alias)); // GROUP elements of a row
typedef int16_t unit __attribute__((may_alias)); // an element
typedef int32_t words __attribute__((vector_size(16)));
typedef int32_t words_memory __attribute__((vector_size(16), aligned(4), may_alias));
typedef float vec __attribute__((vector_size(16)));
typedef float vec_memory __attribute__((vector_size(16), aligned(4), may_alias));
typedef int16_t units __attribute__((vector_size(8)));
typedef int16_t units_memory __attribute__((vector_size(8), aligned(2), may_alias));

// dot adds the products of GROUP elements of w and a to each word of s.
static inline words dot(words s, words w, words a)
{
#if defined(__x86_64__)
	__asm__("pmaddwd %1, %0" : "+x"(w) : "x"(a));
	return s + w;
#else
	typedef int16_t shorts __attribute__((vector_size(16)));
	const shorts x = (shorts)w, y = (shorts)a;
	for (int i = 0; i < LANES; i++)
		s[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
	return s;
#endif
}

static inline words load(const word *p)
{
	return *(const words_memory *)p;
}

static inline words splat(int32_t x)
{
	return (words){ 0 } + x;
}

static inline int32_t image_one(float x, float inverse)
{
	float t = x * inverse;
	t = t < -128.0f ? -128.0f : t;
	t = t > 127.0f ? 127.0f : t;
	union { float f; int32_t i; } u = { .f = t + 12582912.0f };
	return u.i - 0x4B400000;
}

// clip returns x where it is between low and high, else the nearer of these.
static inline vec clip(vec x, vec low, vec high)
{
#if defined(__x86_64__)
	__asm__("maxps %1, %0\n\tminps %2, %0" : "+x"(x) : "x"(low), "x"(high));
	return x;
#else
	for (int i = 0; i < LANES; i++) {
		x[i] = x[i] < low[i] ? low[i] : x[i];
		x[i] = x[i] > high[i] ? high[i] : x[i];
	}
	return x;
#endif
}

// image quantises LANES floats.
static inline words image(const float *x, float inverse)
{
	const vec t = *(const vec_memory *)x * inverse;
	return (words)(clip(t, (vec){ 0 } - 128.0f, (vec){ 0 } + 127.0f) + 12582912.0f) - 0x4B400000;
}

// narrow stores the low bits of q, which fit an element.
static inline void narrow(unit *to, words q)
{
#if defined(__x86_64__)
	typedef int16_t shorts __attribute__((vector_size(16), may_alias));
	shorts s;
	s = (shorts)q;
	__asm__("packssdw %0, %0" : "+x"(s));
	__builtin_memcpy(to, &s, LANES * sizeof(unit));
#else
	*(units_memory *)to = __builtin_convertvector(q, units);
#endif
}

// activations quantises a row.
static void activations(unit *to, const float *x, int64_t count, float inverse)
{
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES)
		narrow(to + i, image(x + i, inverse));
	for (; i < count; i++)
		to[i] = (unit)image_one(x[i], inverse);
}

enum { OFFSET = 0 }; // of the weights

// weights widens or offsets a row.
static void weights(unit *to, const int8_t *w, int64_t count, float inverse)
{
	(void)inverse;
	int64_t i = 0;
	typedef int8_t bytes __attribute__((vector_size(8)));
	typedef int8_t bytes_memory __attribute__((vector_size(8), aligned(1), may_alias));
	typedef int16_t shorts __attribute__((vector_size(16)));
	typedef int16_t shorts_memory __attribute__((vector_size(16), aligned(2), may_alias));
	for (; i + 2 * LANES <= count; i += 2 * LANES) {
		const bytes b = *(const bytes_memory *)(w + i);
		*(shorts_memory *)(to + i) = __builtin_convertvector(b, shorts);
	}
	for (; i < count; i++)
		to[i] = (unit)(w[i] + OFFSET);
}

struct job {
	const float *a;
	const uint8_t *w;
	float *c;
	int64_t m, n, k;
	float inverse_a, inverse_w, scale;
	int64_t groups, stride;     // words of a quantised row, and from row to row
	int64_t tiles, panels;      // of MR rows of a, of NR rows of w
	int64_t panel_words;
	word *rows;                 // a, quantised
	int32_t *start;             // what the sums of a row start from
	word *packed;               // panels of w
	int32_t *partial;           // sums that wait for the next block along k
};

static inline int64_t whole_lines(int64_t words)
{
	return (words + 15) / 16 * 16;
}

#include <stdlib.h>

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

static void describe(struct job *j, struct scratch_small *small, void *const *args, const int64_t *dims)
{
	const float *scales = args[2];
	j->a = args[0];
	j->w = args[1];
	j->c = args[3];
	j->m = dims[0];
	j->n = dims[1];
	j->k = dims[2];
	j->inverse_a = 1.0f / scales[0];
	j->inverse_w = 1.0f / scales[1];
	j->scale = scales[0] * scales[1];
	j->groups = (j->k + GROUP - 1) / GROUP;
	// An odd number of cache lines keeps the rows of a tile out of each other's sets.
	j->stride = ((j->groups + 15) / 16 | 1) * 16;
	j->tiles = (j->m + MR - 1) / MR;
	j->panels = (j->n + NR - 1) / NR;
	j->panel_words = j->groups * NR;
	const int64_t rows = whole_lines(j->tiles * MR * j->groups), starts = whole_lines(j->tiles * MR);
	const int64_t packed = 0 * j->panel_words, partial = 0;
	j->rows = reserve(small, 4 * (rows + starts + packed + partial));
	j->start = (int32_t *)j->rows + rows;
	j->packed = (word *)j->start + starts;
	j->partial = (int32_t *)j->packed + packed;
	j->packed = args[1];
}

// quantise_tile quantises MR rows of a, or those that there are; others are left as they are, and so will be
// their products, which nobody reads.
static void quantise_tile(const struct job *j, int64_t t)
{
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++) {
		const int64_t i = t * MR + r;
		word *to = j->rows + t * MR * j->groups + r;
		for (int64_t l = 0; l < j->k; l += 1024) {
			word row[1024 / GROUP];
			const int64_t count = j->k - l < 1024 ? j->k - l : 1024;
			const int64_t groups = (count + GROUP - 1) / GROUP;
			row[groups - 1] = 0;
			activations((unit *)row, j->a + i * j->k + l, count, j->inverse_a);
			for (int64_t g = 0; g < groups; g++)
				to[(l / GROUP + g) * MR] = row[g];
		}
	}
}

// pack_panel arranges `rows` rows of w, at most NR. What belongs to no row or element stays as it is: it meets
// zeros of a, or becomes products that nobody reads.
static void pack_panel(const struct job *j, const int8_t *w, int64_t rows, word *to)
{
	for (int64_t l = 0; l < j->k; l += 1024) {
		const int64_t count = j->k - l < 1024 ? j->k - l : 1024;
		const int64_t groups = (count + GROUP - 1) / GROUP;
		for (int64_t r = 0; r < rows; r++) {
			word row[1024 / GROUP];
			row[groups - 1] = 0;
			weights((unit *)row, w + r * j->k + l, count, j->inverse_w);
			word *lane = to + (r / LANES * j->groups + l / GROUP) * LANES + r % LANES;
			for (int64_t g = 0; g < groups; g++)
				lane[g * LANES] = row[g];
		}
	}
}

// tile multiplies tile t with panel p, from one group along k to another.
static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)
{
	const word *a = j->rows + t * MR * j->groups;
	const word *w_0 = w + 0 * j->groups * LANES;
	const word *w_1 = w + 1 * j->groups * LANES;
	words s0_0 = { 0 };
	words s0_1 = { 0 };
	words s1_0 = { 0 };
	words s1_1 = { 0 };
	int64_t g = from;
	for (; g < to; g++) {
		const words w0 = load(w_0 + (g) * LANES);
		const words w1 = load(w_1 + (g) * LANES);
		const words a0 = splat((int32_t)*(a + (g) * MR + 0));
		s0_0 = dot(s0_0, w0, a0);
		s0_1 = dot(s0_1, w1, a0);
		const words a1 = splat((int32_t)*(a + (g) * MR + 1));
		s1_0 = dot(s1_0, w0, a1);
		s1_1 = dot(s1_1, w1, a1);
	}
	const float scale = j->scale;
	const int64_t rows = j->m - t * MR, columns = j->n - p * NR;
	float *c = j->c + t * MR * j->n + p * NR;
	if (rows >= MR && columns >= NR) {
		*(vec_memory *)(c + 0 * j->n + 0 * LANES) = __builtin_convertvector(s0_0, vec) * scale;
		*(vec_memory *)(c + 0 * j->n + 1 * LANES) = __builtin_convertvector(s0_1, vec) * scale;
		*(vec_memory *)(c + 1 * j->n + 0 * LANES) = __builtin_convertvector(s1_0, vec) * scale;
		*(vec_memory *)(c + 1 * j->n + 1 * LANES) = __builtin_convertvector(s1_1, vec) * scale;
		return;
	}
	float edge[MR * NR];
	*(vec_memory *)(edge + 0 * NR + 0 * LANES) = __builtin_convertvector(s0_0, vec) * scale;
	*(vec_memory *)(edge + 0 * NR + 1 * LANES) = __builtin_convertvector(s0_1, vec) * scale;
	*(vec_memory *)(edge + 1 * NR + 0 * LANES) = __builtin_convertvector(s1_0, vec) * scale;
	*(vec_memory *)(edge + 1 * NR + 1 * LANES) = __builtin_convertvector(s1_1, vec) * scale;
	for (int64_t r = 0; r < MR && r < rows; r++)
		for (int64_t i = 0; i < NR && i < columns; i++)
			c[r * j->n + i] = edge[r * NR + i];
}

// multiply does the tiles from t0 to t1 with the panels from p0 to p1; own is room for a panel.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, word *own)
{
	for (int64_t p = p0; p < p1; p++)
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p, j->packed + p * j->panel_words, 0, j->groups);
	(void)own;
}

enum { CHUNKS = 3 };

// prepare is a task of the first part: a tile of a, or a panel of w.
static void prepare(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct job *j = context;
	if (i < j->tiles) {
		quantise_tile(j, i);
		return;
	}
}

// chunk is a task of the second part: panels with all tiles, or tiles with all panels.
static void chunk(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct job *j = context;
	multiply(j, j->tiles * i / CHUNKS, j->tiles * (i + 1) / CHUNKS, 0, j->panels, j->packed);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	parallel(prepare, j, j->tiles);
	parallel(chunk, j, CHUNKS);
	give_back(&small, j->rows);
}

void tune_pack(uint8_t *packed, const int8_t *w, int64_t n, int64_t k)
{
	float scales[2] = { 1, 1 };
	void *args[4] = { 0, packed, scales, 0 };
	int64_t dims[3] = { 0, n, k };
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	for (int64_t p = 0; p < j->panels; p++)
		pack_panel(j, w + p * NR * k, n - p * NR < NR ? n - p * NR : NR, j->packed + p * j->panel_words);
	give_back(&small, j->rows);
}
