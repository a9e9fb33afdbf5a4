// form=packed compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=2 unroll=1 kc=512 mc=0 order=columns activations=rows panels=together ahead=1024 next=yes broadcast=register
// gcc -std=gnu11 -O3 -ffp-contract=off -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512 -mavx512vnni
// gemm-i8, relu=false, weights=packed: form=packed compiler=gcc opt=O3 isa=avx512vnni mr=2 nr=2 unroll=1 kc=512 mc=0 order=columns activations=rows panels=together ahead=1024 next=yes broadcast=register
#include <stdint.h>

enum { LANES = 16, GROUP = 4, MR = 2, NR = 2 * LANES };
typedef uint32_t word __attribute__((may_alias)); // GROUP elements of a row
typedef uint8_t unit __attribute__((may_alias)); // an element
typedef int32_t words __attribute__((vector_size(64)));
typedef int32_t words_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef float vec __attribute__((vector_size(64)));
typedef float vec_memory __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint8_t units __attribute__((vector_size(16)));
typedef uint8_t units_memory __attribute__((vector_size(16), aligned(1), may_alias));

// dot adds the products of GROUP elements of w and a to each word of s.
static inline words dot(words s, words w, words a)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(w), "v"(a));
	return s;
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

// activations quantises a row, and returns the sum of its elements.
static int32_t activations(unit *to, const float *x, int64_t count, float inverse)
{
	words sums = { 0 };
	int32_t sum = 0;
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		const words q = image(x + i, inverse);
		sums += q;
		narrow(to + i, q);
	}
	for (; i < count; i++) {
		const int32_t q = image_one(x[i], inverse);
		sum += q;
		to[i] = (unit)q;
	}
	for (int l = 0; l < LANES; l++)
		sum += sums[l];
	return sum;
}

enum { OFFSET = 128 }; // of the weights, which are unsigned here

// weights widens or offsets a row.
static void weights(unit *to, const int8_t *w, int64_t count, float inverse)
{
	(void)inverse;
	int64_t i = 0;
	typedef uint8_t bytes __attribute__((vector_size(64), aligned(1), may_alias));
	for (; i + 4 * LANES <= count; i += 4 * LANES)
		*(bytes *)(to + i) = *(const bytes *)(w + i) ^ 128;
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
	const int64_t rows = whole_lines(j->tiles * MR * j->stride), starts = whole_lines(j->tiles * MR);
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
		j->start[i] = -OFFSET * activations((unit *)to, j->a + i * j->k, j->k, j->inverse_a);
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

// tile multiplies tile t with panel p, from one group along k to another.
static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)
{
	const int64_t stride = j->stride;
	const word *a = j->rows + t * MR * stride;
	const char *next = (const char *)(w + from * NR);
	const int64_t share = t % 10;
	if (share < 2)
		next += 4 * j->panel_words + share * (to - from) * 64;
	const int32_t *start = j->start + t * MR;
	words s0_0 = splat(start[0]);
	words s0_1 = splat(start[0]);
	words s1_0 = splat(start[1]);
	words s1_1 = splat(start[1]);
	int32_t *partial = j->partial + (t * j->panels + p) * MR * NR;
	if (from > 0) {
		s0_0 = load((const word *)partial + 0 * NR + 0 * LANES);
		s0_1 = load((const word *)partial + 0 * NR + 1 * LANES);
		s1_0 = load((const word *)partial + 1 * NR + 0 * LANES);
		s1_1 = load((const word *)partial + 1 * NR + 1 * LANES);
	}
	int64_t g = from;
	for (; g < to; g++) {
		__builtin_prefetch((const char *)(w + (g) * NR + 0 * LANES) + 1024);
		__builtin_prefetch((const char *)(w + (g) * NR + 0 * LANES) + 1088);
		__builtin_prefetch(next + (g - from) * 64 + 0, 0, 2);
		const words w0 = load(w + (g) * NR + 0 * LANES);
		const words w1 = load(w + (g) * NR + 1 * LANES);
		const words a0 = splat((int32_t)*(a + 0 * stride + g));
		s0_0 = dot(s0_0, w0, a0);
		s0_1 = dot(s0_1, w1, a0);
		const words a1 = splat((int32_t)*(a + 1 * stride + g));
		s1_0 = dot(s1_0, w0, a1);
		s1_1 = dot(s1_1, w1, a1);
	}
	if (to < j->groups) {
		*(words_memory *)(partial + 0 * NR + 0 * LANES) = s0_0;
		*(words_memory *)(partial + 0 * NR + 1 * LANES) = s0_1;
		*(words_memory *)(partial + 1 * NR + 0 * LANES) = s1_0;
		*(words_memory *)(partial + 1 * NR + 1 * LANES) = s1_1;
		return;
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
	for (int64_t g = 0; g < j->groups; g += 512 / GROUP) {
		const int64_t end = j->groups - g > 512 / GROUP ? g + 512 / GROUP : j->groups;
		for (int64_t p = p0; p < p1; p++)
			for (int64_t t = t0; t < t1; t++)
				tile(j, t, p, j->packed + p * j->panel_words, g, end);
	}
	(void)own;
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
