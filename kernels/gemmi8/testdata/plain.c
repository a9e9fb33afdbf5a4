// form=plain compiler=gcc opt=O3 isa=native
// gcc -std=gnu11 -O3 -ffp-contract=off -march=native
// gemm-i8, relu=false, weights=f32: form=plain compiler=gcc opt=O3 isa=native
#include <stdint.h>

#include <stdlib.h>

static void *scratch;
static int64_t scratch_bytes;

// reserve returns memory of at least so many bytes, aligned to a cache line.
static void *reserve(int64_t bytes)
{
	if (bytes > scratch_bytes) {
		free(scratch);
		scratch_bytes = (bytes + 4095) / 4096 * 4096;
		scratch = aligned_alloc(4096, scratch_bytes);
		if (!scratch)
			abort();
	}
	return scratch;
}

__attribute__((destructor)) static void release(void)
{
	free(scratch);
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
	int8_t *restrict qa = reserve(m * k + n * k);
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
}
