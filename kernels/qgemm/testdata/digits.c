// form=panels compiler=gcc opt=O3 isa=amxint8 mr=1 nr=1 ahead=0 mc=0 order=columns unpack=digits kc=512 nc=128
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mamx-tile -mamx-int8
// qgemm, format=q4_k: form=panels compiler=gcc opt=O3 isa=amxint8 mr=1 nr=1 ahead=0 mc=0 order=columns unpack=digits kc=512 nc=128
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

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
enum { BLOCK = 256, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 144 }; // of q4_k

enum { LANES = 16, MR = 16, NR = 1 };
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

// factors returns LANES bytes as floats.
static inline vec factors(const uint8_t *p)
{
	typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
	words v;
	__asm__("vpmovzxbd %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return __builtin_convertvector(v, vec);
}

// centred takes the centre off stored quants.
static inline words centred(words u)
{
	return u;
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
	word *rows;                    // a, quantised: 16 words of each row of a tile stand together
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
	j->high_bytes = 0;
	j->panel_bytes = (j->low_bytes + j->high_bytes + j->blocks * 320 + 63) / 64 * 64;
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
		word *to = j->rows + t * MR * (j->k / 4);
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
				to[((b * (BLOCK / 64) + g / 16) * MR + r) * 16 + g % 16] = q[g];
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
			q[SUB * s + l] = b[16 + s / 2 * 32 + l] >> s % 2 * 4 & 15;
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

typedef uint16_t shorts __attribute__((vector_size(64)));

// in_halves returns LANES bytes, each in both halves of a word.
static inline shorts in_halves(const uint8_t *p)
{
	typedef uint8_t bytes __attribute__((vector_size(16), aligned(1), may_alias));
	words v;
	__asm__("vpmovzxbd %1, %0" : "=v"(v) : "m"(*(const bytes *)p));
	return (shorts)((v & 0xffff) | v << 16);
}

// put_digits writes the digits of quants times their scales: the first ones, and the second ones a tile further.
static inline void put_digits(uint8_t *to, words q, shorts scale)
{
	// No quant times three bits of a scale exceeds a byte. So a multiplication of two quants at once carries nothing from one to the other.
	*(words_memory *)to = (words)((shorts)q * (scale >> 3));
	*(words_memory *)(to + 1024) = (words)((shorts)q * (scale & 7));
}

// unpack makes the digits of the panels, and floats of their scales, from p on, from one block along k to another. Panels that do not exist are the last one.
static void unpack(const struct job *j, int64_t p, int64_t from, int64_t to, uint8_t *digits, float *scales)
{
	{
		const uint8_t *w0 = j->w + p * j->panel_bytes;
		const uint8_t *s0 = w0 + j->low_bytes + j->high_bytes + from * 320;
		w0 += from * 2048;
		for (int64_t b = from; b < to; b++) {
			const vec d0 = halves(s0 + 2 * SUBS * LANES);
			const vec m0 = halves(s0 + (2 * SUBS + 2) * LANES);
			const uint8_t *f0 = s0;
			*(vec_memory *)scales = d0;
			for (int s = 0; s < SUBS; s++)
				*(vec_memory *)(scales + (1 + s) * LANES) = factors(f0 + (SUBS + s) * LANES) * m0;
			scales += 9 * LANES;
			for (int part = 0; part < BLOCK / 32; part++) {
				uint8_t *to_part = digits + part / 2 * 2048 + part % 2 * 512;
				const shorts scale0 = in_halves(f0 + 0 * LANES);
				put_digits(to_part + 0, (load(w0 + 0) & 0x0f0f0f0f), scale0);
				put_digits(to_part + 64, (load(w0 + 64) & 0x0f0f0f0f), scale0);
				put_digits(to_part + 128, (load(w0 + 128) & 0x0f0f0f0f), scale0);
				put_digits(to_part + 192, (load(w0 + 192) & 0x0f0f0f0f), scale0);
				put_digits(to_part + 256, (load(w0 + 0) >> 4 & 0x0f0f0f0f), scale0);
				put_digits(to_part + 320, (load(w0 + 64) >> 4 & 0x0f0f0f0f), scale0);
				put_digits(to_part + 384, (load(w0 + 128) >> 4 & 0x0f0f0f0f), scale0);
				put_digits(to_part + 448, (load(w0 + 192) >> 4 & 0x0f0f0f0f), scale0);
				w0 += 256;
				f0 += 1 * LANES;
			}
			digits += 8192;
			s0 += 320;
		}
	}
}

// multiply_digits multiplies the tiles from t0 to t1 with the panels from p on, from one block along k to another. It adds to what is in partial,
// and leaves the sums there before the last block. Panels that do not exist are the last one, and are not stored.
static void multiply_digits(const struct job *j, int64_t t0, int64_t t1, int64_t p, const uint8_t *digits, const float *scales, int64_t from, int64_t to, float *partial)
{
	int32_t products[2][2][256] __attribute__((aligned(64)));
	const int64_t depth = to - from;
	const word *a = j->rows + (t0 * j->blocks + from) * MR * (BLOCK / 4);
	const uint8_t *q0 = digits + 0 * depth * 8192;
	int64_t left = (t1 - t0) * depth - 1, block = 0; // whose products are to be made, and where in the tile they are
	int now = 0;
	tile_zero(0);
	tile_zero(1);
	tile_load(2, a + 0, 64);
	tile_load(3, q0 + 0, 64);
	tile_dot_su(0, 2, 3);
	tile_load(4, q0 + 1024, 64);
	tile_dot_su(1, 2, 4);
	tile_load(2, a + 256, 64);
	tile_load(3, q0 + 2048, 64);
	tile_dot_su(0, 2, 3);
	tile_load(4, q0 + 3072, 64);
	tile_dot_su(1, 2, 4);
	tile_load(2, a + 512, 64);
	tile_load(3, q0 + 4096, 64);
	tile_dot_su(0, 2, 3);
	tile_load(4, q0 + 5120, 64);
	tile_dot_su(1, 2, 4);
	tile_load(2, a + 768, 64);
	tile_load(3, q0 + 6144, 64);
	tile_dot_su(0, 2, 3);
	tile_load(4, q0 + 7168, 64);
	tile_dot_su(1, 2, 4);
	tile_store(0, products[0][0], 64);
	tile_store(1, products[0][1], 64);
	for (int64_t t = t0; t < t1; t++) {
		const float *d = j->d + (t * j->blocks + from) * MR;
		const float *sums = j->sums + (t * j->blocks + from) * MR * SUBS;
		const float *f0 = scales + 0 * depth * 9 * LANES;
		vec c0_0 = { 0 };
		vec c1_0 = { 0 };
		vec c2_0 = { 0 };
		vec c3_0 = { 0 };
		vec c4_0 = { 0 };
		vec c5_0 = { 0 };
		vec c6_0 = { 0 };
		vec c7_0 = { 0 };
		vec c8_0 = { 0 };
		vec c9_0 = { 0 };
		vec c10_0 = { 0 };
		vec c11_0 = { 0 };
		vec c12_0 = { 0 };
		vec c13_0 = { 0 };
		vec c14_0 = { 0 };
		vec c15_0 = { 0 };
		if (from > 0) {
			c0_0 = *(const vec_memory *)(partial + 0 * LANES);
			c1_0 = *(const vec_memory *)(partial + 1 * LANES);
			c2_0 = *(const vec_memory *)(partial + 2 * LANES);
			c3_0 = *(const vec_memory *)(partial + 3 * LANES);
			c4_0 = *(const vec_memory *)(partial + 4 * LANES);
			c5_0 = *(const vec_memory *)(partial + 5 * LANES);
			c6_0 = *(const vec_memory *)(partial + 6 * LANES);
			c7_0 = *(const vec_memory *)(partial + 7 * LANES);
			c8_0 = *(const vec_memory *)(partial + 8 * LANES);
			c9_0 = *(const vec_memory *)(partial + 9 * LANES);
			c10_0 = *(const vec_memory *)(partial + 10 * LANES);
			c11_0 = *(const vec_memory *)(partial + 11 * LANES);
			c12_0 = *(const vec_memory *)(partial + 12 * LANES);
			c13_0 = *(const vec_memory *)(partial + 13 * LANES);
			c14_0 = *(const vec_memory *)(partial + 14 * LANES);
			c15_0 = *(const vec_memory *)(partial + 15 * LANES);
		}
		for (int64_t b = from; b < to; b++) {
			if (left-- > 0) {
				a += MR * (BLOCK / 4);
				q0 += 8192;
				if (++block == depth) {
					block = 0;
					a += (j->blocks - depth) * MR * (BLOCK / 4);
					q0 -= depth * 8192;
				}
			}
			{
				const vec scale0 = *(const vec_memory *)f0;
				const vec min0_0 = *(const vec_memory *)(f0 + 1 * LANES);
				const vec min0_1 = *(const vec_memory *)(f0 + 2 * LANES);
				const vec min0_2 = *(const vec_memory *)(f0 + 3 * LANES);
				const vec min0_3 = *(const vec_memory *)(f0 + 4 * LANES);
				const vec min0_4 = *(const vec_memory *)(f0 + 5 * LANES);
				const vec min0_5 = *(const vec_memory *)(f0 + 6 * LANES);
				const vec min0_6 = *(const vec_memory *)(f0 + 7 * LANES);
				const vec min0_7 = *(const vec_memory *)(f0 + 8 * LANES);
				tile_zero(0);
				c0_0 += (__builtin_convertvector(load(products[now][0] + 0), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 0), vec)) * (scale0 * d[0]);
				c0_0 -= min0_0 * sums[0];
				c0_0 -= min0_1 * sums[16];
				c0_0 -= min0_2 * sums[32];
				c0_0 -= min0_3 * sums[48];
				c0_0 -= min0_4 * sums[64];
				c0_0 -= min0_5 * sums[80];
				c0_0 -= min0_6 * sums[96];
				c0_0 -= min0_7 * sums[112];
				tile_zero(1);
				tile_load(2, a + 0, 64);
				c1_0 += (__builtin_convertvector(load(products[now][0] + 16), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 16), vec)) * (scale0 * d[1]);
				c1_0 -= min0_0 * sums[1];
				c1_0 -= min0_1 * sums[17];
				c1_0 -= min0_2 * sums[33];
				c1_0 -= min0_3 * sums[49];
				c1_0 -= min0_4 * sums[65];
				c1_0 -= min0_5 * sums[81];
				c1_0 -= min0_6 * sums[97];
				c1_0 -= min0_7 * sums[113];
				tile_load(3, q0 + 0, 64);
				c2_0 += (__builtin_convertvector(load(products[now][0] + 32), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 32), vec)) * (scale0 * d[2]);
				c2_0 -= min0_0 * sums[2];
				c2_0 -= min0_1 * sums[18];
				c2_0 -= min0_2 * sums[34];
				c2_0 -= min0_3 * sums[50];
				c2_0 -= min0_4 * sums[66];
				c2_0 -= min0_5 * sums[82];
				c2_0 -= min0_6 * sums[98];
				c2_0 -= min0_7 * sums[114];
				tile_dot_su(0, 2, 3);
				tile_load(4, q0 + 1024, 64);
				c3_0 += (__builtin_convertvector(load(products[now][0] + 48), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 48), vec)) * (scale0 * d[3]);
				c3_0 -= min0_0 * sums[3];
				c3_0 -= min0_1 * sums[19];
				c3_0 -= min0_2 * sums[35];
				c3_0 -= min0_3 * sums[51];
				c3_0 -= min0_4 * sums[67];
				c3_0 -= min0_5 * sums[83];
				c3_0 -= min0_6 * sums[99];
				c3_0 -= min0_7 * sums[115];
				tile_dot_su(1, 2, 4);
				c4_0 += (__builtin_convertvector(load(products[now][0] + 64), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 64), vec)) * (scale0 * d[4]);
				c4_0 -= min0_0 * sums[4];
				c4_0 -= min0_1 * sums[20];
				c4_0 -= min0_2 * sums[36];
				c4_0 -= min0_3 * sums[52];
				c4_0 -= min0_4 * sums[68];
				c4_0 -= min0_5 * sums[84];
				c4_0 -= min0_6 * sums[100];
				c4_0 -= min0_7 * sums[116];
				tile_load(2, a + 256, 64);
				tile_load(3, q0 + 2048, 64);
				c5_0 += (__builtin_convertvector(load(products[now][0] + 80), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 80), vec)) * (scale0 * d[5]);
				c5_0 -= min0_0 * sums[5];
				c5_0 -= min0_1 * sums[21];
				c5_0 -= min0_2 * sums[37];
				c5_0 -= min0_3 * sums[53];
				c5_0 -= min0_4 * sums[69];
				c5_0 -= min0_5 * sums[85];
				c5_0 -= min0_6 * sums[101];
				c5_0 -= min0_7 * sums[117];
				tile_dot_su(0, 2, 3);
				c6_0 += (__builtin_convertvector(load(products[now][0] + 96), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 96), vec)) * (scale0 * d[6]);
				c6_0 -= min0_0 * sums[6];
				c6_0 -= min0_1 * sums[22];
				c6_0 -= min0_2 * sums[38];
				c6_0 -= min0_3 * sums[54];
				c6_0 -= min0_4 * sums[70];
				c6_0 -= min0_5 * sums[86];
				c6_0 -= min0_6 * sums[102];
				c6_0 -= min0_7 * sums[118];
				tile_load(4, q0 + 3072, 64);
				tile_dot_su(1, 2, 4);
				c7_0 += (__builtin_convertvector(load(products[now][0] + 112), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 112), vec)) * (scale0 * d[7]);
				c7_0 -= min0_0 * sums[7];
				c7_0 -= min0_1 * sums[23];
				c7_0 -= min0_2 * sums[39];
				c7_0 -= min0_3 * sums[55];
				c7_0 -= min0_4 * sums[71];
				c7_0 -= min0_5 * sums[87];
				c7_0 -= min0_6 * sums[103];
				c7_0 -= min0_7 * sums[119];
				tile_load(2, a + 512, 64);
				c8_0 += (__builtin_convertvector(load(products[now][0] + 128), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 128), vec)) * (scale0 * d[8]);
				c8_0 -= min0_0 * sums[8];
				c8_0 -= min0_1 * sums[24];
				c8_0 -= min0_2 * sums[40];
				c8_0 -= min0_3 * sums[56];
				c8_0 -= min0_4 * sums[72];
				c8_0 -= min0_5 * sums[88];
				c8_0 -= min0_6 * sums[104];
				c8_0 -= min0_7 * sums[120];
				tile_load(3, q0 + 4096, 64);
				tile_dot_su(0, 2, 3);
				c9_0 += (__builtin_convertvector(load(products[now][0] + 144), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 144), vec)) * (scale0 * d[9]);
				c9_0 -= min0_0 * sums[9];
				c9_0 -= min0_1 * sums[25];
				c9_0 -= min0_2 * sums[41];
				c9_0 -= min0_3 * sums[57];
				c9_0 -= min0_4 * sums[73];
				c9_0 -= min0_5 * sums[89];
				c9_0 -= min0_6 * sums[105];
				c9_0 -= min0_7 * sums[121];
				tile_load(4, q0 + 5120, 64);
				c10_0 += (__builtin_convertvector(load(products[now][0] + 160), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 160), vec)) * (scale0 * d[10]);
				c10_0 -= min0_0 * sums[10];
				c10_0 -= min0_1 * sums[26];
				c10_0 -= min0_2 * sums[42];
				c10_0 -= min0_3 * sums[58];
				c10_0 -= min0_4 * sums[74];
				c10_0 -= min0_5 * sums[90];
				c10_0 -= min0_6 * sums[106];
				c10_0 -= min0_7 * sums[122];
				tile_dot_su(1, 2, 4);
				tile_load(2, a + 768, 64);
				c11_0 += (__builtin_convertvector(load(products[now][0] + 176), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 176), vec)) * (scale0 * d[11]);
				c11_0 -= min0_0 * sums[11];
				c11_0 -= min0_1 * sums[27];
				c11_0 -= min0_2 * sums[43];
				c11_0 -= min0_3 * sums[59];
				c11_0 -= min0_4 * sums[75];
				c11_0 -= min0_5 * sums[91];
				c11_0 -= min0_6 * sums[107];
				c11_0 -= min0_7 * sums[123];
				tile_load(3, q0 + 6144, 64);
				c12_0 += (__builtin_convertvector(load(products[now][0] + 192), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 192), vec)) * (scale0 * d[12]);
				c12_0 -= min0_0 * sums[12];
				c12_0 -= min0_1 * sums[28];
				c12_0 -= min0_2 * sums[44];
				c12_0 -= min0_3 * sums[60];
				c12_0 -= min0_4 * sums[76];
				c12_0 -= min0_5 * sums[92];
				c12_0 -= min0_6 * sums[108];
				c12_0 -= min0_7 * sums[124];
				tile_dot_su(0, 2, 3);
				tile_load(4, q0 + 7168, 64);
				c13_0 += (__builtin_convertvector(load(products[now][0] + 208), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 208), vec)) * (scale0 * d[13]);
				c13_0 -= min0_0 * sums[13];
				c13_0 -= min0_1 * sums[29];
				c13_0 -= min0_2 * sums[45];
				c13_0 -= min0_3 * sums[61];
				c13_0 -= min0_4 * sums[77];
				c13_0 -= min0_5 * sums[93];
				c13_0 -= min0_6 * sums[109];
				c13_0 -= min0_7 * sums[125];
				tile_dot_su(1, 2, 4);
				c14_0 += (__builtin_convertvector(load(products[now][0] + 224), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 224), vec)) * (scale0 * d[14]);
				c14_0 -= min0_0 * sums[14];
				c14_0 -= min0_1 * sums[30];
				c14_0 -= min0_2 * sums[46];
				c14_0 -= min0_3 * sums[62];
				c14_0 -= min0_4 * sums[78];
				c14_0 -= min0_5 * sums[94];
				c14_0 -= min0_6 * sums[110];
				c14_0 -= min0_7 * sums[126];
				tile_store(0, products[now ^ 1][0], 64);
				tile_store(1, products[now ^ 1][1], 64);
				c15_0 += (__builtin_convertvector(load(products[now][0] + 240), vec) * 8.0f + __builtin_convertvector(load(products[now][1] + 240), vec)) * (scale0 * d[15]);
				c15_0 -= min0_0 * sums[15];
				c15_0 -= min0_1 * sums[31];
				c15_0 -= min0_2 * sums[47];
				c15_0 -= min0_3 * sums[63];
				c15_0 -= min0_4 * sums[79];
				c15_0 -= min0_5 * sums[95];
				c15_0 -= min0_6 * sums[111];
				c15_0 -= min0_7 * sums[127];
			}
			f0 += 9 * LANES;
			d += MR;
			sums += MR * SUBS;
			now ^= 1;
		}
		if (to < j->blocks) {
			*(vec_memory *)(partial + 0 * LANES) = c0_0;
			*(vec_memory *)(partial + 1 * LANES) = c1_0;
			*(vec_memory *)(partial + 2 * LANES) = c2_0;
			*(vec_memory *)(partial + 3 * LANES) = c3_0;
			*(vec_memory *)(partial + 4 * LANES) = c4_0;
			*(vec_memory *)(partial + 5 * LANES) = c5_0;
			*(vec_memory *)(partial + 6 * LANES) = c6_0;
			*(vec_memory *)(partial + 7 * LANES) = c7_0;
			*(vec_memory *)(partial + 8 * LANES) = c8_0;
			*(vec_memory *)(partial + 9 * LANES) = c9_0;
			*(vec_memory *)(partial + 10 * LANES) = c10_0;
			*(vec_memory *)(partial + 11 * LANES) = c11_0;
			*(vec_memory *)(partial + 12 * LANES) = c12_0;
			*(vec_memory *)(partial + 13 * LANES) = c13_0;
			*(vec_memory *)(partial + 14 * LANES) = c14_0;
			*(vec_memory *)(partial + 15 * LANES) = c15_0;
			partial += MR * NR * LANES;
			continue;
		}
		partial += MR * NR * LANES;
		const int64_t rows = j->m - t * MR;
		float *c = j->c + t * MR * j->n + p * LANES;
		const int64_t columns0 = j->n - (p + 0) * LANES;
		if (columns0 >= LANES) {
			*(vec_memory *)(c + 0 * j->n + 0 * LANES) = c0_0;
			if (rows > 1) *(vec_memory *)(c + 1 * j->n + 0 * LANES) = c1_0;
			if (rows > 2) *(vec_memory *)(c + 2 * j->n + 0 * LANES) = c2_0;
			if (rows > 3) *(vec_memory *)(c + 3 * j->n + 0 * LANES) = c3_0;
			if (rows > 4) *(vec_memory *)(c + 4 * j->n + 0 * LANES) = c4_0;
			if (rows > 5) *(vec_memory *)(c + 5 * j->n + 0 * LANES) = c5_0;
			if (rows > 6) *(vec_memory *)(c + 6 * j->n + 0 * LANES) = c6_0;
			if (rows > 7) *(vec_memory *)(c + 7 * j->n + 0 * LANES) = c7_0;
			if (rows > 8) *(vec_memory *)(c + 8 * j->n + 0 * LANES) = c8_0;
			if (rows > 9) *(vec_memory *)(c + 9 * j->n + 0 * LANES) = c9_0;
			if (rows > 10) *(vec_memory *)(c + 10 * j->n + 0 * LANES) = c10_0;
			if (rows > 11) *(vec_memory *)(c + 11 * j->n + 0 * LANES) = c11_0;
			if (rows > 12) *(vec_memory *)(c + 12 * j->n + 0 * LANES) = c12_0;
			if (rows > 13) *(vec_memory *)(c + 13 * j->n + 0 * LANES) = c13_0;
			if (rows > 14) *(vec_memory *)(c + 14 * j->n + 0 * LANES) = c14_0;
			if (rows > 15) *(vec_memory *)(c + 15 * j->n + 0 * LANES) = c15_0;
			} else if (columns0 > 0) {
			if (rows > 0)
				__builtin_memcpy(c + 0 * j->n + 0 * LANES, &c0_0, 4 * columns0);
			if (rows > 1)
				__builtin_memcpy(c + 1 * j->n + 0 * LANES, &c1_0, 4 * columns0);
			if (rows > 2)
				__builtin_memcpy(c + 2 * j->n + 0 * LANES, &c2_0, 4 * columns0);
			if (rows > 3)
				__builtin_memcpy(c + 3 * j->n + 0 * LANES, &c3_0, 4 * columns0);
			if (rows > 4)
				__builtin_memcpy(c + 4 * j->n + 0 * LANES, &c4_0, 4 * columns0);
			if (rows > 5)
				__builtin_memcpy(c + 5 * j->n + 0 * LANES, &c5_0, 4 * columns0);
			if (rows > 6)
				__builtin_memcpy(c + 6 * j->n + 0 * LANES, &c6_0, 4 * columns0);
			if (rows > 7)
				__builtin_memcpy(c + 7 * j->n + 0 * LANES, &c7_0, 4 * columns0);
			if (rows > 8)
				__builtin_memcpy(c + 8 * j->n + 0 * LANES, &c8_0, 4 * columns0);
			if (rows > 9)
				__builtin_memcpy(c + 9 * j->n + 0 * LANES, &c9_0, 4 * columns0);
			if (rows > 10)
				__builtin_memcpy(c + 10 * j->n + 0 * LANES, &c10_0, 4 * columns0);
			if (rows > 11)
				__builtin_memcpy(c + 11 * j->n + 0 * LANES, &c11_0, 4 * columns0);
			if (rows > 12)
				__builtin_memcpy(c + 12 * j->n + 0 * LANES, &c12_0, 4 * columns0);
			if (rows > 13)
				__builtin_memcpy(c + 13 * j->n + 0 * LANES, &c13_0, 4 * columns0);
			if (rows > 14)
				__builtin_memcpy(c + 14 * j->n + 0 * LANES, &c14_0, 4 * columns0);
			if (rows > 15)
				__builtin_memcpy(c + 15 * j->n + 0 * LANES, &c15_0, 4 * columns0);
		}
	}
}

// multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	struct tile_configuration callers, sizes = { .palette = 1 };
	tile_save(&callers);
	for (int t = 0; t < 5; t++) {
		sizes.columns[t] = 64;
		// Those of sums and of A have no more rows than A.
		sizes.rows[t] = t < 3 && j->m < 16 ? (uint8_t)j->m : 16;
	}
	tile_configure(&sizes);
	const int64_t depth = 2, tiles = t1 - t0, groups = 8; // of a block
	const int64_t digit_bytes = NR * depth * 8192, scale_bytes = NR * depth * 9 * LANES * 4;
	const int64_t step = tiles * MR * NR * LANES; // of the sums of a group of panels
	uint8_t *digits = reserve(0, digit_bytes + scale_bytes + (depth < j->blocks ? groups * step * 4 : 0));
	float *scales = (float *)(digits + digit_bytes), *partial = (float *)(digits + digit_bytes + scale_bytes);
	for (int64_t t = t0; t < t1; t += tiles)
		for (int64_t first = p0; first < p1; first += groups)
			for (int64_t b = 0; b < j->blocks; b += depth)
				for (int64_t p = first; p < p1 && p < first + groups; p++) {
					const int64_t end = j->blocks - b > depth ? b + depth : j->blocks, stop = t1 - t > tiles ? t + tiles : t1;
					unpack(j, p * NR, b, end, digits, scales);
					multiply_digits(j, t, stop, p * NR, digits, scales, b, end, partial + (p - first) * step);
				}
	tile_restore(&callers);
	give_back(0, digits);
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
			}
			uint8_t *scales = high + j->high_bytes + b * 320;
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
