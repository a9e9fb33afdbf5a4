// form=plain compiler=gcc opt=O3 isa=native
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -march=native
// attention over f16 keys and values: form=plain compiler=gcc opt=O3 isa=native
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD = 64,   // numbers of a query, key or value
	GROUP = 4, // query heads of a kv head
};

// Queries are multiplied by this. The scores are then logarithms to base 2.
static const float factor = 0x1.715476p-03f;

typedef uint16_t kv; // an element of keys and values, f16

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


static inline float widen_one(kv x)
{
	union { uint32_t i; float f; } u = { .i = (uint32_t)(x & 0x7fff) << 13 };
	u.f *= 0x1p112f;
	if (u.f >= 0x1p16f)
		u.i |= 0x7f800000;
	u.i |= (uint32_t)(x & 0x8000) << 16;
	return u.f;
}

// 2 to the power of x, which is at most 0: 2^n times a polynomial in x - n, which is off by 2e-07 of it.
static inline float power(float x)
{
	x = x > -120.0f ? x : -120.0f;
	union { float f; uint32_t i; } t = { .f = x + 0x1.8p23f }, y; // the integer is in the low bits
	const float f = x - (t.f - 0x1.8p23f);
	y.f = (((((0x1.5c08e6p-10f) * f + 0x1.3d0c52p-07f) * f + 0x1.c6b6e4p-05f) * f + 0x1.ebf918p-03f) * f + 0x1.62e428p-01f) * f + 0x1.000002p+00f;
	y.i += t.i << 23;
	return y.f;
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *restrict q = args[0];
	const kv *restrict k = args[1], *restrict v = args[2];
	float *restrict out = args[3];
	const int64_t queries = dims[0], context = dims[1], heads = dims[2];
	struct scratch_small small;
	float *restrict w = reserve(&small, context * sizeof(float));
	for (int64_t h = 0; h < heads; h++) {
		const kv *restrict kh = k + h / GROUP * context * HEAD, *restrict vh = v + h / GROUP * context * HEAD;
		for (int64_t i = 0; i < queries; i++) {
			const float *restrict row = q + (h * queries + i) * HEAD;
			float *restrict to = out + (i * heads + h) * HEAD;
			const int64_t seen = context - queries + i + 1;
			float top = -__builtin_inff(), sum = 0;
			for (int64_t j = 0; j < seen; j++) {
				float s = 0;
				for (int64_t d = 0; d < HEAD; d++)
					s += row[d] * widen_one(kh[j * HEAD + d]);
				w[j] = s * factor;
				top = w[j] > top ? w[j] : top;
			}
			for (int64_t j = 0; j < seen; j++) {
				w[j] = power(w[j] - top);
				sum += w[j];
			}
			for (int64_t d = 0; d < HEAD; d++)
				to[d] = 0;
			for (int64_t j = 0; j < seen; j++)
				for (int64_t d = 0; d < HEAD; d++)
					to[d] += w[j] * widen_one(vh[j * HEAD + d]);
			for (int64_t d = 0; d < HEAD; d++)
				to[d] /= sum;
		}
	}
	give_back(&small, w);
}
