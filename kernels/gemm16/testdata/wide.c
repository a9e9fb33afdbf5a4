// unit=wide compiler=gcc opt=O3 isa=f16c mr=2 nr=1 activations=tiles unroll=1 ahead=0 kc=0 mc=0 order=columns pack=panel
// gcc -std=gnu11 -O3 -ffp-contract=fast -mavx2 -mfma -mf16c
// gemm-f16, layout=nt, inputs=f32, weights=half: unit=wide compiler=gcc opt=O3 isa=f16c mr=2 nr=1 activations=tiles unroll=1 ahead=0 kc=0 mc=0 order=columns pack=panel
#include <stdint.h>
#include <stdlib.h>

enum { LANES = 8, MR = 2, NR = 1 * LANES }; // rows and columns of a tile
enum { PANEL = NR }; // columns of a panel
enum { GROUP = 1, WORDS = 1 }; // elements of B along k that stand together, a cell, and words of A that they meet
typedef float word __attribute__((may_alias));
typedef uint16_t cell __attribute__((may_alias));
typedef uint32_t words __attribute__((vector_size(32)));
typedef uint32_t words_memory __attribute__((vector_size(32), aligned(2), may_alias));
typedef float vec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint16_t shorts __attribute__((vector_size(16)));
typedef uint16_t shorts_memory __attribute__((vector_size(16), aligned(2), may_alias));

// round_vector rounds to 16 bits.
static inline shorts round_vector(vec x)
{
	shorts h;
	__asm__("vcvtps2ph $0, %1, %0" : "=v"(h) : "v"(x));
	return h;
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

static inline vec widen(shorts h)
{
	vec x;
	__asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(h));
	return x;
}

// widen_all makes floats of 16 bits.
static inline void widen_all(float *to, const uint16_t *x, int64_t count)
{
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES)
		*(vec_memory *)(to + i) = widen(*(const shorts_memory *)(x + i));
	if (i < count) {
		shorts last = { 0 };
		__builtin_memcpy(&last, x + i, 2 * (count - i));
		const vec v = widen(last);
		__builtin_memcpy(to + i, &v, 4 * (count - i));
	}
}

static inline vec load0(const cell *p)
{
	vec x;
	__asm__("vcvtph2ps %1, %0" : "=v"(x) : "m"(*(const shorts_memory *)p));
	return x;
}

static inline vec splat(word x)
{
	return (vec){ 0 } + x;
}

static inline vec multiply_add(vec s, vec b, vec a)
{
	return s + a * b;
}

// words_of makes words of elements of A.
static inline void words_of(word *to, const float *x, int64_t count)
{
	for (int64_t i = 0; i < count; i += LANES) {
		uint16_t bits[LANES];
		const int64_t some = count - i < LANES ? count - i : LANES;
		round_all(bits, x + i, some);
		widen_all((float *)to + i, bits, some);
	}
}

struct job {
	const float *a;
	const uint16_t *b;
	float *c;
	int64_t m, n, k;
	int64_t depth;         // rows of a panel
	int64_t stride;        // words from row to row of A
	int64_t tiles, groups; // of MR rows of A, of the panels of NR columns of B
	int64_t panel, group;  // cells of them
	word *rows;            // A
	cell *packed;          // B
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
	j->groups = (n + NR - 1) / NR;
	j->panel = j->depth * PANEL;
	j->group = j->depth * NR;
}

static void describe(struct job *j, struct scratch_small *small, void *const *args, const int64_t *dims)
{
	sides(j, dims[1], dims[2]);
	j->a = args[0];
	j->b = args[1];
	j->c = args[2];
	j->m = dims[0];
	j->tiles = (j->m + MR - 1) / MR;
	j->stride = j->depth * WORDS;
	const int64_t rows = (j->tiles * MR * j->stride + 15) / 16 * 16;
	j->rows = reserve(small, 4 * rows + 1 * j->group * (int64_t)sizeof(cell));
	j->packed = (cell *)(j->rows + rows);
}

// prepare_tile copies MR rows of A, or those that there are; others are left as they are, and so will be their products, which
// nobody reads.
static void prepare_tile(const struct job *j, int64_t t)
{
	const int64_t used = (j->k + GROUP - 1) / GROUP * WORDS, all = j->depth * WORDS;
	for (int64_t r = 0; r < MR && t * MR + r < j->m; r++) {
		const float *x = j->a + (t * MR + r) * j->k;
		word *to = j->rows + t * MR * j->stride + r;
		enum { SOME = 1024 };
		for (int64_t l = 0; l < j->k; l += SOME) {
			word row[SOME / GROUP * WORDS];
			const int64_t count = j->k - l < SOME ? j->k - l : SOME, from = l / GROUP * WORDS;
			const int64_t filled = (count + GROUP - 1) / GROUP * WORDS;
			row[filled - 1] = 0;
			words_of(row, x + l, count);
			for (int64_t i = 0; i < filled; i++)
				to[(from + i) * MR] = row[i];
		}
		for (int64_t i = used; i < all; i++)
			to[i * MR] = 0;
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

// tile multiplies tile t of A with group p of panels, from one row of a panel to another.
static void tile(const struct job *j, int64_t t, int64_t p, const cell *w, int64_t from, int64_t to)
{
	const int64_t rows = j->m - t * MR, columns = j->n - p * NR;
	const word *a = j->rows + t * MR * j->stride;
	int64_t stride = j->stride;
	(void)stride;
	float edge[MR * NR], *c = j->c + t * MR * j->n + p * NR;
	int64_t line = j->n;
	const int whole = rows >= MR && columns >= NR;
	if (!whole) {
		c = edge;
		line = NR;
	}
	vec s0_0 = { 0 };
	vec s1_0 = { 0 };
	int64_t g = from;
	for (; g < to; g += 1) {
		const vec x0_0 = load0(w + g * PANEL + 0 * LANES);
		const vec a0_0 = splat(*(a + (g * WORDS) * MR + 0));
		s0_0 = multiply_add(s0_0, x0_0, a0_0);
		const vec a0_1 = splat(*(a + (g * WORDS) * MR + 1));
		s1_0 = multiply_add(s1_0, x0_0, a0_1);
	}
	*(vec_memory *)(c + 0 * line + 0 * LANES) = s0_0;
	*(vec_memory *)(c + 1 * line + 0 * LANES) = s1_0;
	if (!whole)
		put(j, t, p, edge);
}

// multiply does the tiles from t0 to t1 with the groups of panels from p0 to p1; own is room for a group.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, cell *own)
{
	for (int64_t p = p0; p < p1; p++) {
		pack_group(j, j->b, p, own);
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p, own, 0, j->depth);
	}
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct job job, *j = &job;
	struct scratch_small small;
	describe(j, &small, args, dims);
	for (int64_t t = 0; t < j->tiles; t++)
		prepare_tile(j, t);
	multiply(j, 0, j->tiles, 0, j->groups, j->packed);
	give_back(&small, j->rows);
}
