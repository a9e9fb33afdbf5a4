// form=dot compiler=gcc opt=O3 isa=avx2 mr=2 nr=2 unroll=2 mc=0 order=columns ahead=0 pack=none
// gcc -std=gnu11 -O3 -ffp-contract=off -mavx2 -mfma
// gemm-i8, relu=false, weights=int8: form=dot compiler=gcc opt=O3 isa=avx2 mr=2 nr=2 unroll=2 mc=0 order=columns ahead=0 pack=none
#include <stdint.h>

enum { LANES = 8, GROUP = 2, MR = 2, NR = 2 };
typedef uint32_t word __attribute__((may_alias)); // GROUP elements of a row
typedef int16_t unit __attribute__((may_alias)); // an element
typedef int32_t words __attribute__((vector_size(32)));
typedef int32_t words_memory __attribute__((vector_size(32), aligned(4), may_alias));
typedef float vec __attribute__((vector_size(32)));
typedef float vec_memory __attribute__((vector_size(32), aligned(4), may_alias));
typedef int16_t units __attribute__((vector_size(16)));
typedef int16_t units_memory __attribute__((vector_size(16), aligned(2), may_alias));

// dot adds the products of GROUP elements of w and a to each word of s.
static inline words dot(words s, words w, words a)
{
	words p;
	__asm__("vpmaddwd %2, %1, %0" : "=v"(p) : "v"(w), "v"(a));
	return s + p;
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
#if defined(__x86_64__)
	typedef int16_t shorts __attribute__((vector_size(16), may_alias));
	shorts s;
	__asm__("vpackssdw %2, %1, %0" : "=x"(s) : "x"(((const shorts *)&q)[0]), "x"(((const shorts *)&q)[1]));
	__builtin_memcpy(to, &s, LANES * sizeof(unit));
#else
	*(units_memory *)to = __builtin_convertvector(q, units);
#endif
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

struct job {
	const float *a;
	const int8_t *w;
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
	j->panel_words = j->stride * NR;
	const int64_t rows = whole_lines(j->tiles * MR * j->stride), starts = whole_lines(j->tiles * MR);
	const int64_t packed = 0 * j->panel_words, partial = 0;
	j->rows = reserve(small, 4 * (rows + starts + packed + partial));
	j->start = (int32_t *)j->rows + rows;
	j->packed = (word *)j->start + starts;
	j->partial = (int32_t *)j->packed + packed;
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

enum { STEP = GROUP * LANES }; // weights in a vector

// load_weights returns STEP weights as elements.
static inline words load_weights(const int8_t *p)
{
	typedef int8_t bytes __attribute__((vector_size(16)));
	typedef int8_t bytes_memory __attribute__((vector_size(16), aligned(1), may_alias));
	words w;
	__asm__("vpmovsxbw %1, %0" : "=v"(w) : "vm"((bytes)*(const bytes_memory *)p));
	return w;
}

// horizontal returns the sum of the words of s.
static inline int32_t horizontal(words s)
{
	typedef int32_t words4 __attribute__((vector_size(16), may_alias));
	const words4 h4 = ((const words4 *)&s)[0] + ((const words4 *)&s)[1];
	return (h4[0] + h4[1]) + (h4[2] + h4[3]);
}

// tile multiplies tile t with panel p, which has the rows w.
static void tile(const struct job *j, int64_t t, int64_t p, const word *w, int64_t from, int64_t to)
{
	const int64_t stride = j->stride;
	const word *a = j->rows + t * MR * stride;
	// A panel that is not full has its last row more than once.
	const int64_t k = j->k, last = j->n - p * NR - 1;
	const int8_t *v = j->w + p * NR * k;
	const int8_t *v0 = v + (last < 0 ? last : 0) * k;
	const int8_t *v1 = v + (last < 1 ? last : 1) * k;
	(void)w;
	(void)to;
	words s0_0 = { 0 };
	words s0_1 = { 0 };
	words s1_0 = { 0 };
	words s1_1 = { 0 };
	const int64_t end = k / STEP * LANES;
	int64_t g = from;
	for (; g + 2 * LANES <= end; g += 2 * LANES) {
		{
			const words w0 = load_weights(v0 + (g + 0 * LANES) * GROUP);
			const words w1 = load_weights(v1 + (g + 0 * LANES) * GROUP);
			const words a0 = load(a + 0 * stride + g + 0 * LANES);
			s0_0 = dot(s0_0, w0, a0);
			s0_1 = dot(s0_1, w1, a0);
			const words a1 = load(a + 1 * stride + g + 0 * LANES);
			s1_0 = dot(s1_0, w0, a1);
			s1_1 = dot(s1_1, w1, a1);
		}
		{
			const words w0 = load_weights(v0 + (g + 1 * LANES) * GROUP);
			const words w1 = load_weights(v1 + (g + 1 * LANES) * GROUP);
			const words a0 = load(a + 0 * stride + g + 1 * LANES);
			s0_0 = dot(s0_0, w0, a0);
			s0_1 = dot(s0_1, w1, a0);
			const words a1 = load(a + 1 * stride + g + 1 * LANES);
			s1_0 = dot(s1_0, w0, a1);
			s1_1 = dot(s1_1, w1, a1);
		}
	}
	for (; g < end; g += LANES) {
		const words w0 = load_weights(v0 + (g) * GROUP);
		const words w1 = load_weights(v1 + (g) * GROUP);
		const words a0 = load(a + 0 * stride + g);
		s0_0 = dot(s0_0, w0, a0);
		s0_1 = dot(s0_1, w1, a0);
		const words a1 = load(a + 1 * stride + g);
		s1_0 = dot(s1_0, w0, a1);
		s1_1 = dot(s1_1, w1, a1);
	}
	if (k % STEP != 0) {
		// What is left of the rows, with zeros of a beside whatever follows.
		int8_t tail[NR * STEP] = { 0 };
		__builtin_memcpy(tail + 0 * STEP, v0 + g * GROUP, k % STEP);
		__builtin_memcpy(tail + 1 * STEP, v1 + g * GROUP, k % STEP);
		const words w0 = load_weights(tail + 0 * STEP);
		const words w1 = load_weights(tail + 1 * STEP);
		const words a0 = load(a + 0 * stride + g);
		s0_0 = dot(s0_0, w0, a0);
		s0_1 = dot(s0_1, w1, a0);
		const words a1 = load(a + 1 * stride + g);
		s1_0 = dot(s1_0, w0, a1);
		s1_1 = dot(s1_1, w1, a1);
	}
	int32_t sums[MR * NR];
	sums[0 * NR + 0] = horizontal(s0_0);
	sums[0 * NR + 1] = horizontal(s0_1);
	sums[1 * NR + 0] = horizontal(s1_0);
	sums[1 * NR + 1] = horizontal(s1_1);
	const float scale = j->scale;
	const int64_t rows = j->m - t * MR, columns = j->n - p * NR;
	for (int64_t r = 0; r < MR && r < rows; r++)
		for (int64_t i = 0; i < NR && i < columns; i++) {
			const int32_t s = sums[r * NR + i];
			j->c[(t * MR + r) * j->n + p * NR + i] = (float)s * scale;
		}
}

// multiply does the tiles from t0 to t1 with the panels from p0 to p1; own is room for a panel.
static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1, word *own)
{
	for (int64_t p = p0; p < p1; p++)
		for (int64_t t = t0; t < t1; t++)
			tile(j, t, p, 0, 0, j->groups);
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
