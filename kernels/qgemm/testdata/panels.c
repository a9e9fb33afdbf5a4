// form=panels compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=1 ahead=512 mc=0 order=columns chains=1 next=no broadcast=embedded
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni
// qgemm, format=q8_0: form=panels compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=1 ahead=512 mc=0 order=columns chains=1 next=no broadcast=embedded
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK = 32, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 34 }; // of q8_0

enum { LANES = 16, MR = 2, NR = 1 };
typedef uint32_t word __attribute__((may_alias)); // 4 quants of a row
typedef int32_t words __attribute__((vector_size(64)));
typedef int32_t words_memory __attribute__((vector_size(64), aligned(1), may_alias));
typedef float vec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));

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
	typedef uint8_t bytes __attribute__((vector_size(32), aligned(1), may_alias));
	vec v;
	__asm__("vcvtph2ps %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return v;
}

// dot adds the products of four quants of w and of a, in each word, to s.
static inline words dot(words s, words w, const word *a)
{
	__asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(s) : "v"(w), "m"(*a));
	return s;
}

// narrow stores the low bytes of the words.
static inline void narrow(uint8_t *to, words q)
{
	typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
	__asm__("vpmovdb %1, %0" : "=m"(*(bytes *)to) : "v"(q));
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
	j->low_bytes = k * LANES;
	j->high_bytes = 0;
	j->panel_bytes = (j->low_bytes + j->high_bytes + j->blocks * 32 + 63) / 64 * 64;
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
				start[(b * SUBS + s) * MR] = -128 * sum;
			}
		}
	}
}

// quants_of takes the quants out of a block.
static inline void quants_of(int8_t *q, const uint8_t *b)
{
	__builtin_memcpy(q, b + 2, 32);
}

// tile multiplies tile t with the panels from p on. Panels that do not exist are the last one, and are not stored.
static void tile(const struct job *j, int64_t t, int64_t p)
{
	const word *a = j->rows + t * MR * (j->k / 4);
	const float *d = j->d + t * MR * j->blocks;
	const int32_t *start = j->start + t * MR * j->blocks * SUBS;
	const uint8_t *w0 = j->w + p * j->panel_bytes;
	const uint8_t *s0 = w0 + j->low_bytes + j->high_bytes;
	vec c0_0 = { 0 };
	vec c1_0 = { 0 };
	for (int64_t b = 0; b < j->blocks; b++) {
		{
			{
				words i0_0_0 = splat(start[0]);
				words i1_0_0 = splat(start[1]);
				const words u0_0 = load(w0 + 0);
				i0_0_0 = dot(i0_0_0, u0_0, a + 0);
				i1_0_0 = dot(i1_0_0, u0_0, a + 1);
				const words u0_1 = load(w0 + 64);
				i0_0_0 = dot(i0_0_0, u0_1, a + 2);
				i1_0_0 = dot(i1_0_0, u0_1, a + 3);
				const words u0_2 = load(w0 + 128);
				i0_0_0 = dot(i0_0_0, u0_2, a + 4);
				i1_0_0 = dot(i1_0_0, u0_2, a + 5);
				const words u0_3 = load(w0 + 192);
				i0_0_0 = dot(i0_0_0, u0_3, a + 6);
				i1_0_0 = dot(i1_0_0, u0_3, a + 7);
				const words u0_4 = load(w0 + 256);
				i0_0_0 = dot(i0_0_0, u0_4, a + 8);
				i1_0_0 = dot(i1_0_0, u0_4, a + 9);
				const words u0_5 = load(w0 + 320);
				i0_0_0 = dot(i0_0_0, u0_5, a + 10);
				i1_0_0 = dot(i1_0_0, u0_5, a + 11);
				const words u0_6 = load(w0 + 384);
				i0_0_0 = dot(i0_0_0, u0_6, a + 12);
				i1_0_0 = dot(i1_0_0, u0_6, a + 13);
				const words u0_7 = load(w0 + 448);
				i0_0_0 = dot(i0_0_0, u0_7, a + 14);
				i1_0_0 = dot(i1_0_0, u0_7, a + 15);
				const vec scale0 = halves(s0);
				c0_0 += __builtin_convertvector(i0_0_0, vec) * (scale0 * d[0]);
				c1_0 += __builtin_convertvector(i1_0_0, vec) * (scale0 * d[1]);
			}
		}
		__builtin_prefetch(w0 + 512);
		__builtin_prefetch(w0 + 576);
		__builtin_prefetch(w0 + 640);
		__builtin_prefetch(w0 + 704);
		__builtin_prefetch(w0 + 768);
		__builtin_prefetch(w0 + 832);
		__builtin_prefetch(w0 + 896);
		__builtin_prefetch(w0 + 960);
		w0 += 512;
		a += 8 * MR;
		start += 1 * MR;
		s0 += 32;
		d += MR;
	}
	const int64_t rows = j->m - t * MR;
	float *c = j->c + t * MR * j->n + p * LANES;
	const int64_t columns0 = j->n - (p + 0) * LANES;
	if (columns0 >= LANES) {
		*(vec_memory *)(c + 0 * j->n + 0 * LANES) = c0_0;
		if (rows > 1) *(vec_memory *)(c + 1 * j->n + 0 * LANES) = c1_0;
		} else if (columns0 > 0) {
		if (rows > 0)
			__builtin_memcpy(c + 0 * j->n + 0 * LANES, &c0_0, 4 * columns0);
		if (rows > 1)
			__builtin_memcpy(c + 1 * j->n + 0 * LANES, &c1_0, 4 * columns0);
	}
}

// multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	for (int64_t p = p0; p < p1; p++)
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p * NR);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	for (int64_t t = 0; t < j->tiles; t++)
		quantise_tile(j, t);
	multiply(j, 0, j->tiles, 0, (j->panels + NR - 1) / NR);
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
				const uint8_t u = (uint8_t)(q[l] + 128);
				panel[at / 4 * 4 * LANES + 4 * row + at % 4] = u;
			}
			uint8_t *scales = high + j->high_bytes + b * 32;
			__builtin_memcpy(scales + 2 * row, w, 2);
		}
	}
}
