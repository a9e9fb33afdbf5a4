// form=panels compiler=gcc opt=O3 isa=f16c mr=1 nr=2 ahead=0 mc=0 order=columns nest=groups chains=1 next=no scaling=blocks workers=3 split=rows pieces=1 hand_out=dynamic start=pool spin=1000
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx2 -mfma -mf16c -pthread -D_GNU_SOURCE
// qgemm, format=q6_k: form=panels compiler=gcc opt=O3 isa=f16c mr=1 nr=2 ahead=0 mc=0 order=columns nest=groups chains=1 next=no scaling=blocks workers=3 split=rows pieces=1 hand_out=dynamic start=pool spin=1000
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

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

enum { BLOCK = 256, SUB = 16, SUBS = BLOCK / SUB, BLOCK_BYTES = 210 }; // of q6_k

enum { LANES = 8, MR = 1, NR = 2 };
typedef uint32_t word __attribute__((may_alias)); // 4 quants of a row
typedef int32_t words __attribute__((vector_size(32)));
typedef int32_t words_memory __attribute__((vector_size(32), aligned(1), may_alias));
typedef float vec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));

static inline words load(const void *p)
{
	return *(const words_memory *)p;
}

static inline words splat(int32_t x)
{
	return (words){ 0 } + x;
}

// halves returns LANES fp16 as floats.
static inline vec halves(const uint8_t *p)
{
	typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
	vec v;
	__asm__("vcvtph2ps %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return v;
}

// factors returns LANES bytes as floats.
static inline vec factors(const uint8_t *p)
{
	typedef uint8_t bytes __attribute__((vector_size(8), aligned(1), may_alias));
	words v;
	__asm__("vpmovsxbd %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return __builtin_convertvector(v, vec);
}

// dot adds the products of four quants of w and of a, in each word, to s.
static inline words dot(words s, words w, const word *a)
{
	typedef int16_t shorts __attribute__((vector_size(sizeof(words))));
	words x = splat((int32_t)*a);
	shorts p;
	const shorts ones = (shorts){ 0 } + 1;
	__asm__("vpmaddubsw %2, %1, %0" : "=x"(p) : "x"(w), "x"(x));
	__asm__("vpmaddwd %1, %0, %0" : "+x"(p) : "x"(ones));
	return s + (words)p;
}

// narrow stores the low bytes of the words.
static inline void narrow(uint8_t *to, words q)
{
	typedef uint8_t bytes __attribute__((vector_size(8), aligned(1), may_alias));
	typedef int16_t shorts __attribute__((vector_size(16), may_alias));
	shorts s;
	__asm__("vpackssdw %2, %1, %0" : "=x"(s) : "x"(((const shorts *)&q)[0]), "x"(((const shorts *)&q)[1]));
	s &= 255;
	__asm__("vpackuswb %0, %0, %0" : "+x"(s));
	__builtin_memcpy(to, &s, sizeof(bytes));
}

struct job {
	const float *a;
	const uint8_t *w;
	float *c;
	int64_t m, n, k;
	int64_t blocks;                // of a row
	int64_t tiles, panels;         // of MR rows of a, of LANES rows of w
	int64_t low_bytes, high_bytes; // of a panel: the low and the high bits of its quants
	int64_t panel_bytes;
	word *rows;                    // a, quantised: the words of the rows of a tile are interleaved, and so is what follows
	float *d;                      // the scales of its blocks
	int32_t *start;                // what the sums of its sub-blocks start from: the quants of w are stored with a centre added
};

static inline int64_t whole_lines(int64_t words)
{
	return (words + 15) / 16 * 16;
}

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
	j->blocks = k / BLOCK;
	j->panels = (n + LANES - 1) / LANES;
	j->low_bytes = k / 2 * LANES;
	j->high_bytes = k / 8 * LANES * 2;
	j->panel_bytes = (j->low_bytes + j->high_bytes + j->blocks * 144 + 63) / 64 * 64;
}

static void describe(struct job *j, struct scratch_small *small, void *const *args, const int64_t *dims)
{
	sides(j, dims[1], dims[2]);
	j->a = args[0];
	j->w = args[1];
	j->c = args[2];
	j->m = dims[0];
	j->tiles = (j->m + MR - 1) / MR;
	const int64_t rows = whole_lines(j->tiles * MR * (j->k / 4)), scales = whole_lines(j->tiles * MR * j->blocks);
	const int64_t subs = whole_lines(j->tiles * MR * j->blocks * SUBS);
	j->rows = reserve(small, 4 * (rows + scales + subs));
	j->d = (float *)j->rows + rows;
	j->start = (int32_t *)j->d + scales;
}

// quantise quantises a block of activations to words, and returns its scale.
static float quantise(word *q, const float *x)
{
	// Floats without their sign are in the order of their bits: infinities and what is no number are the largest.
	words most = { 0 };
	for (int l = 0; l < BLOCK; l += LANES) {
		const words size = *(const words_memory *)(x + l) & 0x7fffffff;
		__asm__("vpmaxsd %0, %1, %0" : "+v"(most) : "v"(size));
	}
	typedef int32_t four __attribute__((vector_size(16)));
	const union { words all; four parts[LANES / 4]; } lanes = { most };
	four best = lanes.parts[0];
	for (int i = 1; i < LANES / 4; i++)
		__asm__("vpmaxsd %0, %1, %0" : "+v"(best) : "v"(lanes.parts[i]));
	const int32_t even = best[0] > best[2] ? best[0] : best[2], odd = best[1] > best[3] ? best[1] : best[3];
	union { int32_t i; float f; } u = { .i = even > odd ? even : odd };
	const float d = u.f / 127.0f;
	const int usable = d >= FLT_MIN && d <= FLT_MAX;
	const float inverse = usable ? 1.0f / d : 0;
	for (int l = 0; l < BLOCK; l += LANES) {
		vec t = *(const vec_memory *)(x + l) * inverse;
		__asm__("" : "+v"(t)); // rounded before it is rounded to an integer
		narrow((uint8_t *)q + l, (words)(t + 12582912.0f) - 0x4B400000);
	}
	return u.i >= 0x7f800000 ? __builtin_nanf("") : usable ? d : 0;
}

// quantise_tile quantises MR rows of a, or those that there are. The products of others are read by nobody.
static void quantise_tile(const struct job *j, int64_t t)
{
	for (int64_t r = 0; r < MR; r++) {
		word *to = j->rows + t * MR * (j->k / 4) + r;
		float *d = j->d + t * MR * j->blocks + r;
		int32_t *start = j->start + t * MR * j->blocks * SUBS + r;
		if (t * MR + r >= j->m) {
			for (int64_t b = 0; b < j->blocks; b++)
				d[b * MR] = 0;
			continue;
		}
		const float *x = j->a + (t * MR + r) * j->k;
		for (int64_t b = 0; b < j->blocks; b++) {
			word q[BLOCK / 4];
			const float scale = quantise(q, x + b * BLOCK);
			d[b * MR] = scale;
			for (int g = 0; g < BLOCK / 4; g++)
				to[(b * (BLOCK / 4) + g) * MR] = q[g];
			for (int s = 0; s < SUBS; s++) {
				int32_t sum = 0;
				for (int l = 0; l < SUB; l++)
					sum += ((const int8_t *)q)[s * SUB + l];
				start[(b * SUBS + s) * MR] = -32 * sum;
			}
		}
	}
}

// quants_of takes the quants out of a block.
static inline void quants_of(int8_t *q, const uint8_t *b)
{
	for (int part = 0; part < 8; part++) { // of 32 quants, four in each half of the block
		const uint8_t *low = b + part / 4 * 64 + part % 2 * 32, *high = b + 128 + part / 4 * 32;
		const int shift = part % 4 / 2 * 4, up = part % 4 * 2;
		for (int l = 0; l < 32; l++)
			q[32 * part + l] = (int8_t)(((low[l] >> shift & 15) | (high[l] >> up & 3) << 4) - 32);
	}
}

// tile multiplies tile t with the panels from p on. Panels that do not exist are the last one, and are not stored.
static void tile(const struct job *j, int64_t t, int64_t p)
{
	const word *a = j->rows + t * MR * (j->k / 4);
	const float *d = j->d + t * MR * j->blocks;
	const int32_t *start = j->start + t * MR * j->blocks * SUBS;
	const uint8_t *w0 = j->w + p * j->panel_bytes;
	const uint8_t *h0 = w0 + j->low_bytes;
	const uint8_t *s0 = w0 + j->low_bytes + j->high_bytes;
	vec c0_0 = { 0 };
	const uint8_t *w1 = j->w + (p + 1 < j->panels ? p + 1 : j->panels - 1) * j->panel_bytes;
	const uint8_t *h1 = w1 + j->low_bytes;
	const uint8_t *s1 = w1 + j->low_bytes + j->high_bytes;
	vec c0_1 = { 0 };
	for (int64_t b = 0; b < j->blocks; b++) {
		const vec d0 = halves(s0 + SUBS * LANES);
		const uint8_t *f0 = s0;
		const vec d1 = halves(s1 + SUBS * LANES);
		const uint8_t *f1 = s1;
		vec b0_0 = { 0 };
		vec b0_1 = { 0 };
		for (int part = 0; part < BLOCK / 32; part++) {
			{
				words i0_0_0 = splat(start[0]);
				words i0_1_0 = splat(start[0]);
				const words u0_0 = (load(w0 + 0) & 0x0f0f0f0f) | (load(h0 + 0) << 4 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_0, a + 0);
				const words u1_0 = (load(w1 + 0) & 0x0f0f0f0f) | (load(h1 + 0) << 4 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_0, a + 0);
				const words u0_1 = (load(w0 + 32) & 0x0f0f0f0f) | (load(h0 + 0) << 2 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_1, a + 1);
				const words u1_1 = (load(w1 + 32) & 0x0f0f0f0f) | (load(h1 + 0) << 2 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_1, a + 1);
				const words u0_2 = (load(w0 + 64) & 0x0f0f0f0f) | (load(h0 + 0) & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_2, a + 2);
				const words u1_2 = (load(w1 + 64) & 0x0f0f0f0f) | (load(h1 + 0) & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_2, a + 2);
				const words u0_3 = (load(w0 + 96) & 0x0f0f0f0f) | (load(h0 + 0) >> 2 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_3, a + 3);
				const words u1_3 = (load(w1 + 96) & 0x0f0f0f0f) | (load(h1 + 0) >> 2 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_3, a + 3);
				const vec scale0 = factors(f0 + 0 * LANES);
				b0_0 += __builtin_convertvector(i0_0_0, vec) * scale0;
				const vec scale1 = factors(f1 + 0 * LANES);
				b0_1 += __builtin_convertvector(i0_1_0, vec) * scale1;
			}
			{
				words i0_0_0 = splat(start[1]);
				words i0_1_0 = splat(start[1]);
				const words u0_4 = (load(w0 + 0) >> 4 & 0x0f0f0f0f) | (load(h0 + 32) << 4 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_4, a + 4);
				const words u1_4 = (load(w1 + 0) >> 4 & 0x0f0f0f0f) | (load(h1 + 32) << 4 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_4, a + 4);
				const words u0_5 = (load(w0 + 32) >> 4 & 0x0f0f0f0f) | (load(h0 + 32) << 2 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_5, a + 5);
				const words u1_5 = (load(w1 + 32) >> 4 & 0x0f0f0f0f) | (load(h1 + 32) << 2 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_5, a + 5);
				const words u0_6 = (load(w0 + 64) >> 4 & 0x0f0f0f0f) | (load(h0 + 32) & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_6, a + 6);
				const words u1_6 = (load(w1 + 64) >> 4 & 0x0f0f0f0f) | (load(h1 + 32) & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_6, a + 6);
				const words u0_7 = (load(w0 + 96) >> 4 & 0x0f0f0f0f) | (load(h0 + 32) >> 2 & 0x30303030);
				i0_0_0 = dot(i0_0_0, u0_7, a + 7);
				const words u1_7 = (load(w1 + 96) >> 4 & 0x0f0f0f0f) | (load(h1 + 32) >> 2 & 0x30303030);
				i0_1_0 = dot(i0_1_0, u1_7, a + 7);
				const vec scale0 = factors(f0 + 1 * LANES);
				b0_0 += __builtin_convertvector(i0_0_0, vec) * scale0;
				const vec scale1 = factors(f1 + 1 * LANES);
				b0_1 += __builtin_convertvector(i0_1_0, vec) * scale1;
			}
			w0 += 128;
			h0 += 64;
			f0 += 2 * LANES;
			w1 += 128;
			h1 += 64;
			f1 += 2 * LANES;
			a += 8 * MR;
			start += 2 * MR;
		}
		c0_0 += b0_0 * (d0 * d[0]);
		c0_1 += b0_1 * (d1 * d[0]);
		s0 += 144;
		s1 += 144;
		d += MR;
	}
	const int64_t rows = j->m - t * MR;
	float *c = j->c + t * MR * j->n + p * LANES;
	const int64_t columns0 = j->n - (p + 0) * LANES;
	if (columns0 >= LANES) {
		*(vec_memory *)(c + 0 * j->n + 0 * LANES) = c0_0;
		} else if (columns0 > 0) {
		if (rows > 0)
			__builtin_memcpy(c + 0 * j->n + 0 * LANES, &c0_0, 4 * columns0);
	}
	const int64_t columns1 = j->n - (p + 1) * LANES;
	if (columns1 >= LANES) {
		*(vec_memory *)(c + 0 * j->n + 1 * LANES) = c0_1;
		} else if (columns1 > 0) {
		if (rows > 0)
			__builtin_memcpy(c + 0 * j->n + 1 * LANES, &c0_1, 4 * columns1);
	}
}

// multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	for (int64_t p = p0; p < p1; p++)
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p * NR);
}

enum { CHUNKS = 3 };

static void prepare(void *context, int64_t t, __attribute__((unused)) int worker)
{
	quantise_tile(context, t);
}

// chunk does a part of the panels with all tiles, or a part of the tiles with all panels.
static void chunk(void *context, int64_t i, __attribute__((unused)) int worker)
{
	const struct job *j = context;
	const int64_t groups = (j->panels + NR - 1) / NR;
	multiply(j, j->tiles * i / CHUNKS, j->tiles * (i + 1) / CHUNKS, 0, groups);
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

void tune_pack(uint8_t *packed, const uint8_t *w, int64_t n, int64_t k)
{
	struct job job, *j = &job;
	sides(j, n, k);
	__builtin_memset(packed, 0, j->panels * j->panel_bytes);
	for (int64_t r = 0; r < n; r++) {
		uint8_t *panel = packed + r / LANES * j->panel_bytes, *high = panel + j->low_bytes;
		const int64_t row = r % LANES;
		for (int64_t b = 0; b < j->blocks; b++, w += BLOCK_BYTES) {
			int8_t q[BLOCK];
			quants_of(q, w);
			for (int64_t l = 0; l < BLOCK; l++) {
				const int64_t at = b * BLOCK + l;
				const uint8_t u = (uint8_t)(q[l] + 32);
				const int64_t part = at / 32, group = at % 32 / 4;
				panel[(part * 4 + group % 4) * 4 * LANES + 4 * row + at % 4] |= (uint8_t)((u & 15) << group / 4 * 4);
				high[(part * 2 + group / 4) * 4 * LANES + 4 * row + at % 4] |= (uint8_t)(u >> 4 << group % 4 * 2);
			}
			uint8_t *scales = high + j->high_bytes + b * 144;
			for (int s = 0; s < SUBS; s++)
				scales[s * LANES + row] = w[192 + s];
			__builtin_memcpy(scales + SUBS * LANES + 2 * row, w + 208, 2);
		}
	}
}
