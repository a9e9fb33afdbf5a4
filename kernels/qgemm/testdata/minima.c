// form=panels compiler=gcc opt=O3 isa=avxvnni mr=1 nr=1 ahead=0 mc=16 order=rows chains=2 scaling=parts
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx2 -mfma -mavxvnni
// qgemm, format=q5_k: form=panels compiler=gcc opt=O3 isa=avxvnni mr=1 nr=1 ahead=0 mc=16 order=rows chains=2 scaling=parts
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK = 256, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 176 }; // of q5_k

enum { LANES = 8, MR = 1, NR = 1 };
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
	__asm__("vpmovzxbd %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return __builtin_convertvector(v, vec);
}

// dot adds the products of four quants of w and of a, in each word, to s.
static inline words dot(words s, words w, const word *a)
{
	const words x = splat((int32_t)*a);
	__asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(w), "x"(x));
	return s;
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
	float *sums;                   // of the quants of its sub-blocks, times the scale
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
	j->high_bytes = k / 8 * LANES * 1;
	j->panel_bytes = (j->low_bytes + j->high_bytes + j->blocks * 160 + 63) / 64 * 64;
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
	j->sums = j->d + scales;
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
		float *sums = j->sums + t * MR * j->blocks * SUBS + r;
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
				sums[(b * SUBS + s) * MR] = scale * (float)sum;
			}
		}
	}
}

// quants_of takes the quants out of a block.
static inline void quants_of(int8_t *q, const uint8_t *b)
{
	for (int s = 0; s < SUBS; s++)
		for (int l = 0; l < SUB; l++)
			q[SUB * s + l] = (int8_t)((b[48 + s / 2 * 32 + l] >> s % 2 * 4 & 15) | (b[16 + l] >> s & 1) << 4);
}

// bytes_of takes the scales and minima of the sub-blocks out of a block, which have six bits each.
static inline void bytes_of(uint8_t *scales, uint8_t *mins, const uint8_t *b)
{
	uint32_t u[3];
	__builtin_memcpy(u, b + 4, 12);
	const uint32_t upper = (u[2] & 0x0f0f0f0f) | (u[0] >> 2 & 0x30303030), least = (u[2] >> 4 & 0x0f0f0f0f) | (u[1] >> 2 & 0x30303030);
	// One store each, because loads of eight bytes wait for the last of several stores.
	const uint64_t all = (u[0] & 0x3f3f3f3f) | (uint64_t)upper << 32, all_mins = (u[1] & 0x3f3f3f3f) | (uint64_t)least << 32;
	__builtin_memcpy(scales, &all, 8);
	__builtin_memcpy(mins, &all_mins, 8);
}

// tile multiplies tile t with the panels from p on. Panels that do not exist are the last one, and are not stored.
static void tile(const struct job *j, int64_t t, int64_t p)
{
	const word *a = j->rows + t * MR * (j->k / 4);
	const float *d = j->d + t * MR * j->blocks;
	const float *sums = j->sums + t * MR * j->blocks * SUBS;
	const uint8_t *w0 = j->w + p * j->panel_bytes;
	const uint8_t *h0 = w0 + j->low_bytes;
	const uint8_t *s0 = w0 + j->low_bytes + j->high_bytes;
	vec c0_0 = { 0 };
	for (int64_t b = 0; b < j->blocks; b++) {
		const vec d0 = halves(s0 + 2 * SUBS * LANES);
		const vec m0 = halves(s0 + (2 * SUBS + 2) * LANES);
		const uint8_t *f0 = s0;
		for (int part = 0; part < BLOCK / 32; part++) {
			{
				{
					words i0_0_0 = { 0 };
					words i0_0_1 = { 0 };
					const words u0_0 = (load(w0 + 0) & 0x0f0f0f0f) | (load(h0 + 0) << 4 & 0x10101010);
					i0_0_0 = dot(i0_0_0, u0_0, a + 0);
					const words u0_1 = (load(w0 + 32) & 0x0f0f0f0f) | (load(h0 + 0) << 3 & 0x10101010);
					i0_0_1 = dot(i0_0_1, u0_1, a + 1);
					const words u0_2 = (load(w0 + 64) & 0x0f0f0f0f) | (load(h0 + 0) << 2 & 0x10101010);
					i0_0_0 = dot(i0_0_0, u0_2, a + 2);
					const words u0_3 = (load(w0 + 96) & 0x0f0f0f0f) | (load(h0 + 0) << 1 & 0x10101010);
					i0_0_1 = dot(i0_0_1, u0_3, a + 3);
					const words u0_4 = (load(w0 + 0) >> 4 & 0x0f0f0f0f) | (load(h0 + 0) & 0x10101010);
					i0_0_0 = dot(i0_0_0, u0_4, a + 4);
					const words u0_5 = (load(w0 + 32) >> 4 & 0x0f0f0f0f) | (load(h0 + 0) >> 1 & 0x10101010);
					i0_0_1 = dot(i0_0_1, u0_5, a + 5);
					const words u0_6 = (load(w0 + 64) >> 4 & 0x0f0f0f0f) | (load(h0 + 0) >> 2 & 0x10101010);
					i0_0_0 = dot(i0_0_0, u0_6, a + 6);
					const words u0_7 = (load(w0 + 96) >> 4 & 0x0f0f0f0f) | (load(h0 + 0) >> 3 & 0x10101010);
					i0_0_1 = dot(i0_0_1, u0_7, a + 7);
					const vec scale0 = factors(f0 + 0 * LANES) * d0;
					const vec min0 = factors(f0 + (SUBS + 0) * LANES) * m0;
					c0_0 += __builtin_convertvector(i0_0_0 + i0_0_1, vec) * (scale0 * d[0]);
					c0_0 -= min0 * sums[0];
				}
			}
			w0 += 128;
			h0 += 32;
			f0 += 1 * LANES;
			a += 8 * MR;
			sums += 1 * MR;
		}
		s0 += 160;
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
}

// multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	for (int64_t block = t0; block < t1; block += 16) {
		const int64_t stop = t1 - block > 16 ? block + 16 : t1;
		for (int64_t t = block; t < stop; t++)
			for (int64_t p = p0; p < p1; p++)
				tile(j, t, p * NR);
	}
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
				const uint8_t u = (uint8_t)(q[l] + 0);
				const int64_t part = at / 32, group = at % 32 / 4;
				panel[(part * 4 + group % 4) * 4 * LANES + 4 * row + at % 4] |= (uint8_t)((u & 15) << group / 4 * 4);
				high[part * 4 * LANES + 4 * row + at % 4] |= (uint8_t)(u >> 4 << group);
			}
			uint8_t *scales = high + j->high_bytes + b * 160;
			uint8_t factor[SUBS], min[SUBS];
			bytes_of(factor, min, w);
			for (int s = 0; s < SUBS; s++) {
				scales[s * LANES + row] = factor[s];
				scales[(SUBS + s) * LANES + row] = min[s];
			}
			__builtin_memcpy(scales + 2 * SUBS * LANES + 2 * row, w, 2);
			__builtin_memcpy(scales + (2 * SUBS + 2) * LANES + 2 * row, w + 2, 2);
		}
	}
}
