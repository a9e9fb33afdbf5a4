// unit=tile compiler=gcc opt=O3 mr=2 nr=2 panels=apart activations=tiles unroll=1 ahead=0 kc=512 mc=0 order=rows nc=128 along=within prepare=beside results=beside passing=yes workers=1
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni -mavx512bf16 -mamx-tile -mamx-bf16
// gemm-bf16, layout=nt, inputs=f32, weights=packed: unit=tile compiler=gcc opt=O3 mr=2 nr=2 panels=apart activations=tiles unroll=1 ahead=0 kc=512 mc=0 order=rows nc=128 along=within prepare=beside results=beside passing=yes workers=1
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

/* tile_load_passing is tile_load with the hint that the nearest cache need not keep what is loaded: it is used once. */
#ifndef TUNE_EMULATED_TILES
#define tile_load_passing(t, from, stride) \
	__asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #t :: "r"(from), "r"((int64_t)(stride)) : "memory")
#else
#define tile_load_passing tile_load
#endif

enum { LANES = 16, MR = 32, NR = 2 * LANES }; // rows and columns of a tile
enum { PANEL = LANES }; // columns of a panel
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
static inline void words_of(word *to, const float *x, int64_t count)
{
	round_all((uint16_t *)to, x, count);
}

struct job {
	const float *a;
	float *c;
	int64_t m, n, k;
	int64_t depth;         // rows of a panel
	int64_t stride;        // words from row to row of A
	int64_t tiles, groups; // of MR rows of A, of the panels of NR columns of B
	int64_t panel, group;  // cells of them
	word *rows;            // A
	cell *packed;          // B
	float *sums;           // that wait for the next block along k
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
	j->c = args[2];
	j->m = dims[0];
	j->tiles = (j->m + MR - 1) / MR;
	j->stride = j->depth * WORDS;
	const int64_t rows = (2 * MR * j->stride + 15) / 16 * 16;
	const int64_t sums = 1 * j->groups * MR * NR;
	j->rows = reserve(small, 4 * (rows + sums) + 0 * j->group * (int64_t)sizeof(cell));
	j->sums = (float *)j->rows + rows;
	j->packed = args[1];
}

// coming is a tile of A in preparation: its rows, to where they go, and what is prepared next of them: 16 words of a row.
struct coming {
	int64_t t, rows, row, word;
	word *to;
};

// coming begins with a tile; with none where the tiles end before it.
static inline struct coming coming(const struct job *j, int64_t t, int64_t end, word *to)
{
	const int64_t left = t < end ? j->m - t * MR : 0;
	return (struct coming){ .t = t, .rows = left < MR ? left : MR, .to = to };
}

static inline void prepare_part(const struct job *j, struct coming *c)
{
	enum { SOME = 16 * GROUP };
	const float *x = j->a + (c->t * MR + c->row) * j->k + c->word * GROUP;
	word *to = c->to + c->word * MR + c->row * 16; // the matrix tiles of a step stand together
	const int64_t left = j->k - c->word * GROUP;
	if (left < SOME) {
		__builtin_memset(to, 0, 64);
		words_of(to, x, left);
	} else {
		words_of(to, x, SOME);
	}
	c->word += 16;
	if (c->word >= j->depth) {
		c->word = 0;
		c->row++;
	}
}

// take rounds elements of B.
static inline void take(uint16_t *to, const uint16_t *b, int64_t count)
{
	__builtin_memcpy(to, b, 2 * count);
}

// pack_panel arranges PANEL columns of B, the first of which is first. Those that do not exist are zeros.
static void pack_panel(const struct job *j, const uint16_t *b, int64_t first, cell *to)
{
	const int64_t n = j->n, k = j->k, left = n - first, columns = left < 0 ? 0 : left < PANEL ? left : PANEL;
	if (columns < PANEL)
		__builtin_memset(to, 0, j->panel * (int64_t)sizeof(cell));
	const int64_t used = (k + GROUP - 1) / GROUP;
	__builtin_memset(to + used * PANEL, 0, (j->depth - used) * PANEL * (int64_t)sizeof(cell));
	enum { SOME = 1024 };
	for (int64_t l = 0; l < k; l += SOME) {
		const int64_t count = k - l < SOME ? k - l : SOME, cells = (count + GROUP - 1) / GROUP;
		for (int64_t c = 0; c < columns; c++) {
			cell column[SOME / GROUP];
			column[cells - 1] = 0;
			take((uint16_t *)column, b + (first + c) * k + l, count);
			for (int64_t g = 0; g < cells; g++)
				to[(l / GROUP + g) * PANEL + c] = column[g];
		}
	}
}

// pack_group arranges the panels of NR columns.
static inline void pack_group(const struct job *j, const uint16_t *b, int64_t p, cell *to)
{
	for (int64_t i = 0; i < NR / PANEL; i++)
		pack_panel(j, b, p * NR + i * PANEL, to + i * j->panel);
}

// put writes the results of a tile at an edge.
static void put(const struct job *j, int64_t t, int64_t p, const float *edge)
{
	const int64_t columns = j->n - p * NR < NR ? j->n - p * NR : NR;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++)
		__builtin_memcpy(j->c + (t * MR + r) * j->n + p * NR, edge + r * NR, 4 * columns);
}

// results are sums that are stored while others are computed: the next of their rows, and how many there are. other is room for the sums
// after them.
struct results {
	float *sums, *other, *c;
	int64_t row, rows;
};

static inline void store_row(const struct job *j, struct results *r)
{
	const float *sums = r->sums + r->row * NR;
	float *c = r->c + r->row * j->n;
	for (int i = 0; i < NR; i += LANES)
		*(vec_memory *)(c + i) = *(const vec_memory *)(sums + i);
	r->row++;
}

// finish takes over the sums of a tile. Those with columns that do not exist are stored now.
static inline void finish(const struct job *j, int64_t t, int64_t p, struct results *r)
{
	while (r->row < r->rows)
		store_row(j, r);
	float *sums = r->other;
	const int64_t rows = j->m - t * MR;
	*r = (struct results){ .sums = sums, .other = r->sums, .c = j->c + t * MR * j->n + p * NR, .rows = rows < MR ? rows : MR };
	if (j->n - p * NR < NR) {
		put(j, t, p, sums);
		r->rows = 0;
	}
}

// tile multiplies tile t of A with group p of panels, from one row of a panel to another.
// Beside its products it prepares parts of the next tile of A.
// Beside its products it stores results of the tile before.
static void tile(const struct job *j, int64_t t, int64_t p, const cell *w, int64_t from, int64_t to, const word *a, struct coming *next, struct results *last, float *sums)
{
	const cell *w0 = w + 0 * j->panel;
	const cell *w1 = w + 1 * j->panel;
	enum { line = NR };
	float *c = to >= j->depth ? last->other : sums;
	if (from > 0) {
		tile_load(0, sums + 0 * line + 0, 4 * line);
		tile_load(1, sums + 0 * line + 16, 4 * line);
		tile_load(2, sums + 16 * line + 0, 4 * line);
		tile_load(3, sums + 16 * line + 16, 4 * line);
	} else {
		tile_zero(0);
		tile_zero(1);
		tile_zero(2);
		tile_zero(3);
	}
	int64_t g = from;
	for (; g < to; g += 16) {
		tile_load(4, a + g * MR + 0, 64);
		tile_load(5, a + g * MR + 256, 64);
		tile_load_passing(6, w0 + g * PANEL, 4 * PANEL);
		tile_dot_bf16(0, 4, 6);
		tile_dot_bf16(2, 5, 6);
		for (int i = 0; i < 2 && last->row < last->rows; i++)
			store_row(j, last);
		for (int i = 0; i < 8 && next->row < next->rows; i++)
			prepare_part(j, next);
		tile_load_passing(7, w1 + g * PANEL, 4 * PANEL);
		tile_dot_bf16(1, 4, 7);
		tile_dot_bf16(3, 5, 7);
	}
	tile_store(0, c + 0 * line + 0, 4 * line);
	tile_store(1, c + 0 * line + 16, 4 * line);
	tile_store(2, c + 16 * line + 0, 4 * line);
	tile_store(3, c + 16 * line + 16, 4 * line);
	if (to >= j->depth)
		finish(j, t, p, last);
}

// multiply does the tiles from t0 to t1 with the groups of panels from p0 to p1; rows is room for the tiles of A that it prepares.
// sums is room for those of a tile with all panels.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, word *rows, float *sums)
{
	struct tile_configuration callers, sizes = { .palette = 1 };
	tile_save(&callers);
	for (int t = 0; t < 8; t++) {
		sizes.columns[t] = 64;
		// Those of sums and of A have no more rows than A.
		sizes.rows[t] = t < 6 && j->m < 16 ? (uint8_t)j->m : 16;
	}
	tile_configure(&sizes);
	_Alignas(64) float buffers[2][MR * NR];
	struct results last = { .sums = buffers[0], .other = buffers[1] };
	for (int64_t q = p0; q < p1; q += 4) {
		const int64_t until = p1 - q > 4 ? q + 4 : p1;
		struct coming next = coming(j, t0, t1, rows);
		for (int64_t t = t0; t < t1; t++) {
			while (next.row < next.rows)
				prepare_part(j, &next);
			const word *a = next.to;
			next = coming(j, t + 1, t1, rows + (t + 1 - t0) % 2 * MR * j->stride);
			for (int64_t g = 0; g < j->depth; g += 256) {
				const int64_t end = j->depth - g > 256 ? g + 256 : j->depth;
				for (int64_t p = q; p < until; p++)
					tile(j, t, p, j->packed + p * j->group, g, end, a, &next, &last, sums + (p - q) * MR * NR);
			}
		}
	}
	while (last.row < last.rows)
		store_row(j, &last);
	tile_restore(&callers);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	multiply(j, 0, j->tiles, 0, j->groups, j->rows, j->sums);
	give_back(&small, j->rows);
}

void tune_pack(uint8_t *packed, const uint16_t *b, int64_t n, int64_t k)
{
	struct job job, *j = &job;
	sides(j, n, k);
	for (int64_t p = 0; p < j->groups; p++)
		pack_group(j, b, p, (cell *)packed + p * j->group);
}
