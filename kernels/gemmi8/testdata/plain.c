// form=plain compiler=gcc opt=O3 isa=native
// gcc -std=gnu11 -O3 -ffp-contract=off -march=native
// gemm-i8, relu=false, weights=f32: form=plain compiler=gcc opt=O3 isa=native
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

static inline int32_t image_one(float x, float inverse)
{
	float t = x * inverse;
	t = t < -128.0f ? -128.0f : t;
	t = t > 127.0f ? 127.0f : t;
	union { float f; int32_t i; } u = { .f = t + 12582912.0f };
	return u.i - 0x4B400000;
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *restrict a = args[0], *scales = args[2];
	float *restrict c = args[3];
	const int64_t m = dims[0], n = dims[1], k = dims[2];
	const float scale = scales[0] * scales[1];
	struct scratch_small small;
	int8_t *restrict qa = reserve(&small, m * k + n * k);
	for (int64_t i = 0; i < m * k; i++)
		qa[i] = (int8_t)image_one(a[i], 1.0f / scales[0]);
	const float *restrict w = args[1];
	int8_t *restrict qw = qa + m * k;
	for (int64_t i = 0; i < n * k; i++)
		qw[i] = (int8_t)image_one(w[i], 1.0f / scales[1]);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int32_t s = 0;
			for (int64_t l = 0; l < k; l++)
				s += qa[i * k + l] * qw[j * k + l];
			c[i * n + j] = (float)s * scale;
		}
	give_back(&small, qa);
}
