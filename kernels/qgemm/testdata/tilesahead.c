// form=panels compiler=gcc opt=O3 isa=amxint8 mr=1 nr=1 ahead=0 mc=0 order=columns unpack=panel overlap=yes
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mamx-tile -mamx-int8
// qgemm, format=q4_0: form=panels compiler=gcc opt=O3 isa=amxint8 mr=1 nr=1 ahead=0 mc=0 order=columns unpack=panel overlap=yes
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
enum { BLOCK = 32, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 18 }; // of q4_0

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

// centred takes the centre off stored quants.
static inline words centred(words u)
{
	typedef int8_t quants __attribute__((vector_size(sizeof(words))));
	return (words)((quants)u - 8);
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
	word *rows;                    // a, quantised: 8 words of each row of a tile stand together; what follows is interleaved
	float *d;                      // the scales of its blocks
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
	const int64_t subs = 0;
	j->rows = reserve(small, 4 * (rows + scales + subs));
	j->d = (float *)j->rows + rows;
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
				to[((b * (BLOCK / 32) + g / 8) * MR + r) * 8 + g % 8] = q[g];
		}
	}
}

// quants_of takes the quants out of a block.
static inline void quants_of(int8_t *q, const uint8_t *b)
{
	for (int l = 0; l < 16; l++) {
		q[l] = (int8_t)((b[2 + l] & 15) - 8);
		q[l + 16] = (int8_t)((b[2 + l] >> 4) - 8);
	}
}

// unpack makes bytes of the quants of the panels from p on. Panels that do not exist are the last one.
static void unpack(const struct job *j, int64_t p, uint8_t *to)
{
	{
		const uint8_t *w0 = j->w + p * j->panel_bytes;
		for (int64_t l = 0; l < j->k; l += 32) {
			*(words_memory *)(to + 0) = centred((load(w0 + 0) & 0x0f0f0f0f));
			*(words_memory *)(to + 64) = centred((load(w0 + 64) & 0x0f0f0f0f));
			*(words_memory *)(to + 128) = centred((load(w0 + 128) & 0x0f0f0f0f));
			*(words_memory *)(to + 192) = centred((load(w0 + 192) & 0x0f0f0f0f));
			*(words_memory *)(to + 256) = centred((load(w0 + 0) >> 4 & 0x0f0f0f0f));
			*(words_memory *)(to + 320) = centred((load(w0 + 64) >> 4 & 0x0f0f0f0f));
			*(words_memory *)(to + 384) = centred((load(w0 + 128) >> 4 & 0x0f0f0f0f));
			*(words_memory *)(to + 448) = centred((load(w0 + 192) >> 4 & 0x0f0f0f0f));
			w0 += 256;
			to += 32 * LANES;
		}
	}
}

// tile multiplies tile t with the panels from p on. Panels that do not exist are the last one, and are not stored.
static void tile(const struct job *j, int64_t t, int64_t p, const uint8_t *quants)
{
	const word *a = j->rows + t * MR * (j->k / 4);
	const float *d = j->d + t * MR * j->blocks;
	int32_t products[2][1][256] __attribute__((aligned(64)));
	const uint8_t *q0 = quants + 0 * j->k * LANES;
	const uint8_t *s0 = j->w + p * j->panel_bytes + j->low_bytes + j->high_bytes;
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
	tile_load(1, a + 0, 32);
	tile_load(2, q0 + 0, 64);
	tile_zero(0);
	tile_dot_ss(0, 1, 2);
	tile_store(0, products[0][0], 64);
	int now = 0;
	int64_t left = j->k / 32 - 1; // parts of 32 weights whose products are to be made
	if (left > 0) {
		q0 += 32 * LANES;
		a += 8 * MR;
	}
	for (int64_t b = 0; b < j->blocks; b++) {
		{
			const vec scale0 = halves(s0);
			c0_0 += __builtin_convertvector(load(products[now][0] + 0), vec) * (scale0 * d[0]);
			c1_0 += __builtin_convertvector(load(products[now][0] + 16), vec) * (scale0 * d[1]);
			c2_0 += __builtin_convertvector(load(products[now][0] + 32), vec) * (scale0 * d[2]);
			tile_load(1, a + 0, 32);
			c3_0 += __builtin_convertvector(load(products[now][0] + 48), vec) * (scale0 * d[3]);
			c4_0 += __builtin_convertvector(load(products[now][0] + 64), vec) * (scale0 * d[4]);
			c5_0 += __builtin_convertvector(load(products[now][0] + 80), vec) * (scale0 * d[5]);
			tile_load(2, q0 + 0, 64);
			c6_0 += __builtin_convertvector(load(products[now][0] + 96), vec) * (scale0 * d[6]);
			c7_0 += __builtin_convertvector(load(products[now][0] + 112), vec) * (scale0 * d[7]);
			c8_0 += __builtin_convertvector(load(products[now][0] + 128), vec) * (scale0 * d[8]);
			tile_zero(0);
			c9_0 += __builtin_convertvector(load(products[now][0] + 144), vec) * (scale0 * d[9]);
			c10_0 += __builtin_convertvector(load(products[now][0] + 160), vec) * (scale0 * d[10]);
			c11_0 += __builtin_convertvector(load(products[now][0] + 176), vec) * (scale0 * d[11]);
			tile_dot_ss(0, 1, 2);
			c12_0 += __builtin_convertvector(load(products[now][0] + 192), vec) * (scale0 * d[12]);
			c13_0 += __builtin_convertvector(load(products[now][0] + 208), vec) * (scale0 * d[13]);
			c14_0 += __builtin_convertvector(load(products[now][0] + 224), vec) * (scale0 * d[14]);
			tile_store(0, products[now ^ 1][0], 64);
			c15_0 += __builtin_convertvector(load(products[now][0] + 240), vec) * (scale0 * d[15]);
		}
		now ^= 1;
		if (--left > 0) {
			q0 += 32 * LANES;
			a += 8 * MR;
		}
		s0 += 32;
		d += MR;
	}
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

// multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)
{
	struct tile_configuration callers, sizes = { .palette = 1 };
	tile_save(&callers);
	for (int t = 0; t < 3; t++) {
		sizes.columns[t] = t >= 1 && t < 2 ? SUB : 64;
		sizes.rows[t] = t >= 2 ? SUB / 4 : j->m < 16 ? (uint8_t)j->m : 16;
	}
	tile_configure(&sizes);
	uint8_t *quants = reserve(0, NR * j->k * LANES);
	for (int64_t p = p0; p < p1; p++) {
		unpack(j, p * NR, quants);
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p * NR, quants);
	}
	tile_restore(&callers);
	give_back(0, quants);
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
				const uint8_t u = (uint8_t)(q[l] + 8);
				const int64_t part = at / 32, group = at % 32 / 4;
				panel[(part * 4 + group % 4) * 4 * LANES + 4 * row + at % 4] |= (uint8_t)((u & 15) << group / 4 * 4);
			}
			uint8_t *scales = high + j->high_bytes + b * 32;
			__builtin_memcpy(scales + 2 * row, w, 2);
		}
	}
}
