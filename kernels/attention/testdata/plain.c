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

static char *memory;
static int64_t memory_bytes;

// reserve returns memory of at least so many bytes. It is kept between calls, what it holds is not.
static char *reserve(int64_t bytes)
{
	if (bytes > memory_bytes) {
		free(memory);
		memory_bytes = (bytes + 4095) / 4096 * 4096;
		memory = aligned_alloc(4096, memory_bytes);
		if (!memory)
			abort();
	}
	return memory;
}

__attribute__((destructor)) static void release(void)
{
	free(memory);
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
	float *restrict w = (float *)reserve(context * sizeof(float));
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
}
