// unit=plain compiler=gcc opt=O3
// gcc -std=gnu11 -O3 -ffp-contract=fast -march=native
// gemm-f16, layout=nn, inputs=f32, weights=f32: unit=plain compiler=gcc opt=O3
#include <stdint.h>
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

// value returns the float of 16 bits.
static inline float value(uint16_t h)
{
	const uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fff;
	union { uint32_t i; float f; } u = { .i = rest << 13 };
	if (rest >= 0x7c00)
		u.i |= 0x7f800000; // an infinity, or no number
	else
		u.f *= 0x1p112f; // which moves the exponent, of subnormal numbers too
	u.i |= sign;
	return u.f;
}

// rounded returns the float of the 16 bits that are nearest to x.
static inline float rounded(float x)
{
	union { float f; uint32_t i; } u = { .f = x };
	const uint16_t sign = u.i >> 16 & 0x8000;
	u.i &= 0x7fffffff;
	if (u.i > 0x7f800000)
		return x;
	if (u.i >= 0x477ff000) // halfway from the largest number to the next power of two
		return value(sign | 0x7c00);
	if (u.i < 0x38800000) { // multiples of the step of floats from 0.5 to 1
		u.f += 0.5f;
		return value(sign | (uint16_t)(u.i - 0x3f000000));
	}
	u.i += 0xfff + (u.i >> 13 & 1);
	return value(sign | (uint16_t)((u.i >> 13) - (112 << 10)));
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *restrict a = args[0];
	const float *restrict b = args[1];
	float *restrict c = args[2];
	const int64_t m = dims[0], n = dims[1], k = dims[2];
	struct scratch_small small;
	float *restrict x = reserve(&small, 4 * (m * k + (n > k ? n : k))), *restrict y = x + m * k;
	for (int64_t i = 0; i < m * k; i++)
		x[i] = rounded(a[i]);
	for (int64_t i = 0; i < m * n; i++)
		c[i] = 0;
	for (int64_t l = 0; l < k; l++) {
		for (int64_t j = 0; j < n; j++)
			y[j] = rounded(b[l * n + j]);
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++)
				c[i * n + j] += x[i * k + l] * y[j];
	}
	give_back(&small, x);
}
