// form=tile compiler=gcc opt=O3 isa=amxint8 mr=2 nr=2 unroll=1 kc=256 mc=0 order=columns activations=rows panels=together ahead=0 nc=0 prepare=ahead results=after passing=no
// gcc -std=gnu11 -O3 -ffp-contract=off -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mamx-tile -mamx-int8
// gemm-i8, relu=true, weights=packed: form=tile compiler=gcc opt=O3 isa=amxint8 mr=2 nr=2 unroll=1 kc=256 mc=0 order=columns activations=rows panels=together ahead=0 nc=0 prepare=ahead results=after passing=no
#include <stdint.h>

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

enum { LANES = 16, GROUP = 4, MR = 32, NR = 2 * LANES };
typedef uint32_t word __attribute__((may_alias)); // GROUP elements of a row
typedef uint8_t unit __attribute__((may_alias)); // an element
typedef int32_t words __attribute__((vector_size(64)));
typedef int32_t words_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef float vec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t units __attribute__((vector_size(16)));
typedef uint8_t units_memory __attribute__((vector_size(16), aligned(1), may_alias));

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
	__asm__("vmaxps %1, %0, %0\n\tvminps %2, %0, %0" : "+v"(x) : "v"(low), "v"(high));
	return x;
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
	__asm__("vpmovdb %1, %0" : "=m"(*(units_memory *)to) : "v"(q));
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
	typedef uint8_t bytes __attribute__((vector_size(64), aligned(1), may_alias));
	for (; i + 4 * LANES <= count; i += 4 * LANES)
		*(bytes *)(to + i) = *(const bytes *)(w + i);
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
	j->groups = (j->k + GROUP * LANES - 1) / (GROUP * LANES) * LANES;
	// An odd number of cache lines keeps the rows of a tile out of each other's sets.
	j->stride = ((j->groups + 15) / 16 | 1) * 16;
	j->tiles = (j->m + MR - 1) / MR;
	j->panels = (j->n + NR - 1) / NR;
	j->panel_words = j->groups * NR;
	const int64_t rows = whole_lines(j->tiles * MR * j->stride), starts = 0;
	const int64_t packed = 0 * j->panel_words, partial = j->tiles * MR * j->panels * NR;
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
		word *to = j->rows + i * j->stride;
		for (int64_t g = j->k / GROUP; g < j->groups; g++)
			to[g] = 0; // before the elements, which fill the last word in part
		activations((unit *)to, j->a + i * j->k, j->k, j->inverse_a);
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
			for (int64_t g = 0; g < groups; g++)
				to[(l / GROUP + g) * NR + r] = row[g];
		}
	}
}

// finish writes the results of a tile from its sums.
static void finish(const struct job *j, int64_t t, int64_t p, const int32_t *sums)
{
	const float scale = j->scale;
	const int64_t columns = j->n - p * NR < NR ? j->n - p * NR : NR;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++, sums += NR) {
		float *c = j->c + (t * MR + r) * j->n + p * NR;
		int64_t i = 0;
		for (; i + LANES <= columns; i += LANES) {
			const words s = *(const words_memory *)(sums + i);
			*(vec_memory *)(c + i) = __builtin_convertvector((s & (s > 0)), vec) * scale;
		}
		for (; i < columns; i++)
			c[i] = (float)(sums[i] > 0 ? sums[i] : 0) * scale;
	}
}

// tile multiplies tile t with panel p, from one group along k to another.
static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)
{
	const int64_t stride = j->stride;
	const word *a = j->rows + t * MR * stride;
	int32_t *sums = j->partial + (t * j->panels + p) * MR * NR;
	if (from > 0) {
		tile_load(0, sums + 0 * NR + 0, 4 * NR);
		tile_load(1, sums + 0 * NR + 16, 4 * NR);
		tile_load(2, sums + 16 * NR + 0, 4 * NR);
		tile_load(3, sums + 16 * NR + 16, 4 * NR);
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
		tile_load(6, w + (g) * NR + 0 * LANES, 4 * NR);
		tile_dot_ss(0, 4, 6);
		tile_dot_ss(2, 5, 6);
		tile_load(7, w + (g) * NR + 1 * LANES, 4 * NR);
		tile_dot_ss(1, 4, 7);
		tile_dot_ss(3, 5, 7);
	}
	tile_store(0, sums + 0 * NR + 0, 4 * NR);
	tile_store(1, sums + 0 * NR + 16, 4 * NR);
	tile_store(2, sums + 16 * NR + 0, 4 * NR);
	tile_store(3, sums + 16 * NR + 16, 4 * NR);
	if (to >= j->groups)
		finish(j, t, p, sums);
}

// multiply does the tiles from t0 to t1 with the panels from p0 to p1; own is room for a panel.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, word *own)
{
	struct tile_configuration callers, sizes = { .palette = 1 };
	tile_save(&callers);
	for (int t = 0; t < 8; t++) {
		sizes.columns[t] = 64;
		// Those of sums and of A have no more rows than A.
		sizes.rows[t] = t < 6 && j->m < 16 ? (uint8_t)j->m : 16;
	}
	tile_configure(&sizes);
	for (int64_t g = 0; g < j->groups; g += 256 / GROUP) {
		const int64_t end = j->groups - g > 256 / GROUP ? g + 256 / GROUP : j->groups;
		for (int64_t p = p0; p < p1; p++)
			for (int64_t t = t0; t < t1; t++)
				tile(j, t, p, j->packed + p * j->panel_words, g, end);
	}
	(void)own;
	tile_restore(&callers);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	for (int64_t t = 0; t < j->tiles; t++)
		quantise_tile(j, t);
	multiply(j, 0, j->tiles, 0, j->panels, j->packed);
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
