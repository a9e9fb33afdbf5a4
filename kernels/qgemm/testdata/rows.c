// form=rows compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=2 ahead=0 mc=0 order=columns
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni
// qgemm, format=q5_0: form=rows compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=2 ahead=0 mc=0 order=columns
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK = 32, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 22 }; // of q5_0

enum { LANES = 8, MR = 2, NR = 2 };
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

// dot adds the products of four quants of w and of a, in each word, to s.
static inline words dot(words s, words w, words a)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(w), "v"(a));
	return s;
}

// every returns an fp16 as a float in each lane.
static inline vec every(const uint8_t *p)
{
	typedef int16_t shorts __attribute__((vector_size(16)));
	shorts s;
	vec v;
	__asm__("vpbroadcastw %1, %0" : "=x"(s) : "m"(*(const uint16_t *)p));
	__asm__("vcvtph2ps %1, %0" : "=x"(v) : "x"(s));
	return v;
}

// quants returns the 32 quants of a block.
static inline words quants(const uint8_t *b)
{
	enum { NIBBLES = 22 - 16 };
	// The low nibbles are the first half.
	typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
	words low;
	__asm__("vbroadcasti128 %1, %0" : "=x"(low) : "m"(*(const bytes *)(b + NIBBLES)));
	const words high = low >> 4, half = { 0, 0, 0, 0, -1, -1, -1, -1 };
	low = ((low & ~half) | (high & half)) & 0x0f0f0f0f;
	// Bit l of a word is the fifth bit of quant l: each byte of the vector takes the byte with its bit, and keeps that.
	static const uint8_t which[32] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3 };
	static const uint8_t bit[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	typedef int8_t signs __attribute__((vector_size(32)));
	int32_t fifth;
	int64_t bits;
	__builtin_memcpy(&fifth, b + NIBBLES - 4, 4);
	__builtin_memcpy(&bits, bit, 8);
	words spread = splat(fifth);
	__asm__("vpshufb %1, %0, %0" : "+x"(spread) : "x"(load(which)));
	typedef int64_t longs __attribute__((vector_size(32)));
	const words mask = (words)((longs){ 0 } + bits);
	low |= (words)((signs)(spread & mask) == (signs)mask) & 0x10101010;
	return low;
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

struct job {
	const float *a;
	const uint8_t *w;
	float *c;
	int64_t m, n, k;
	int64_t blocks;        // of a row
	int64_t tiles, panels; // of MR rows of a, of NR rows of w
	int8_t *rows;          // a, quantised
	float *d;              // the scales of its blocks
	int32_t *start;        // what the sums of four products start from: the quants of w have a centre added
};

static inline int64_t whole_lines(int64_t words)
{
	return (words + 15) / 16 * 16;
}

static void describe(struct job *j, struct scratch_small *small, void *const *args, const int64_t *dims)
{
	j->a = args[0];
	j->w = args[1];
	j->c = args[2];
	j->m = dims[0];
	j->n = dims[1];
	j->k = dims[2];
	j->blocks = j->k / BLOCK;
	j->tiles = (j->m + MR - 1) / MR;
	j->panels = (j->n + NR - 1) / NR;
	const int64_t rows = whole_lines(j->m * j->k / 4), scales = whole_lines(j->m * j->blocks);
	j->d = reserve(small, 4 * (scales + rows + rows));
	j->rows = (int8_t *)(j->d + scales);
	j->start = (int32_t *)(j->d + scales + rows);
}

// quantise_tile quantises MR rows of a, or those that there are.
static void quantise_tile(const struct job *j, int64_t t)
{
	const int64_t end = t * MR + MR < j->m ? t * MR + MR : j->m;
	for (int64_t b = t * MR * j->blocks; b < end * j->blocks; b++) {
		int8_t *q = j->rows + b * BLOCK;
		j->d[b] = quantise((word *)q, j->a + b * BLOCK);
		for (int l = 0; l < BLOCK / 4; l++)
			j->start[b * (BLOCK / 4) + l] = -16 * (q[4 * l] + q[4 * l + 1] + q[4 * l + 2] + q[4 * l + 3]);
	}
}

// horizontal returns the sum of the lanes of s.
static inline float horizontal(vec s)
{
	typedef float vec4 __attribute__((vector_size(16), may_alias));
	const vec4 h4 = ((const vec4 *)&s)[0] + ((const vec4 *)&s)[1];
	return (h4[0] + h4[1]) + (h4[2] + h4[3]);
}

// tile multiplies the rows from t * MR on with the rows of w from p * NR on. Rows that do not exist are the last one, and are not stored.
static void tile(const struct job *j, int64_t t, int64_t p)
{
	const int64_t rows = j->m - t * MR;
	const int64_t columns = j->n - p * NR;
	const int64_t r0 = t * MR * j->blocks;
	const int8_t *a0 = j->rows + r0 * BLOCK;
	const float *d0 = j->d + r0;
	const int32_t *start0 = j->start + r0 * (BLOCK / 4);
	const int64_t r1 = (t * MR + (rows > 1 ? 1 : rows - 1)) * j->blocks;
	const int8_t *a1 = j->rows + r1 * BLOCK;
	const float *d1 = j->d + r1;
	const int32_t *start1 = j->start + r1 * (BLOCK / 4);
	const uint8_t *w0 = j->w + p * NR * j->blocks * BLOCK_BYTES;
	vec c0_0 = { 0 };
	vec c1_0 = { 0 };
	const uint8_t *w1 = j->w + (p * NR + (columns > 1 ? 1 : columns - 1)) * j->blocks * BLOCK_BYTES;
	vec c0_1 = { 0 };
	vec c1_1 = { 0 };
	for (int64_t b = 0; b < j->blocks; b++) {
		{
			const words u = quants(w0);
			const vec scale = every(w0);
			c0_0 += __builtin_convertvector(dot(load(start0 + 8 * 0), u, load(a0 + 32 * 0)), vec) * (scale * d0[0]);
			c1_0 += __builtin_convertvector(dot(load(start1 + 8 * 0), u, load(a1 + 32 * 0)), vec) * (scale * d1[0]);
			w0 += BLOCK_BYTES;
		}
		{
			const words u = quants(w1);
			const vec scale = every(w1);
			c0_1 += __builtin_convertvector(dot(load(start0 + 8 * 0), u, load(a0 + 32 * 0)), vec) * (scale * d0[0]);
			c1_1 += __builtin_convertvector(dot(load(start1 + 8 * 0), u, load(a1 + 32 * 0)), vec) * (scale * d1[0]);
			w1 += BLOCK_BYTES;
		}
		a0 += BLOCK;
		d0++;
		start0 += BLOCK / 4;
		a1 += BLOCK;
		d1++;
		start1 += BLOCK / 4;
	}
	float *c = j->c + t * MR * j->n + p * NR;
	c[0 * j->n + 0] = horizontal(c0_0);
	if (columns > 1) c[0 * j->n + 1] = horizontal(c0_1);
	if (rows > 1) c[1 * j->n + 0] = horizontal(c1_0);
	if (rows > 1 && columns > 1) c[1 * j->n + 1] = horizontal(c1_1);
}

// multiply does the tiles from t0 to t1 with the groups of NR rows of w from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	for (int64_t p = p0; p < p1; p++)
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	for (int64_t t = 0; t < j->tiles; t++)
		quantise_tile(j, t);
	multiply(j, 0, j->tiles, 0, j->panels);
	give_back(&small, j->d);
}
