// form=plain compiler=gcc opt=O3
// gcc -std=gnu11 -O3 -ffp-contract=off -march=native
// qgemm, format=q4_k: form=plain compiler=gcc opt=O3
#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK = 256, SUB = 32, SUBS = BLOCK / SUB, BLOCK_BYTES = 144 }; // of q4_k

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

// quantise quantises a block of activations, and returns its scale.
static float quantise(int8_t *q, const float *x)
{
	float most = 0, odd = 0;
	for (int l = 0; l < BLOCK; l++) {
		const float size = x[l] < 0 ? -x[l] : x[l];
		most = size > most ? size : most;
		odd += x[l] * 0.0f;
	}
	const float d = most / 127.0f;
	const int usable = d >= FLT_MIN && d <= FLT_MAX;
	const float inverse = usable ? 1.0f / d : 0;
	for (int l = 0; l < BLOCK; l++) {
		const float t = x[l] * inverse;
		union { float f; int32_t i; } u = { .f = t + 12582912.0f };
		q[l] = (int8_t)(u.i - 0x4B400000);
	}
	return (usable ? d : 0) + odd;
}

// half returns the value of an fp16.
static inline float half(const uint8_t *p)
{
	const uint32_t h = p[0] | p[1] << 8, sign = (h & 0x8000) << 16, rest = h & 0x7fff;
	union { uint32_t i; float f; } u = { .i = rest << 13 };
	if (rest >= 0x7c00)
		u.i |= 0x7f800000; // an infinity, or no number
	else
		u.f *= 0x1p112f; // which moves the exponent, of subnormal numbers too
	u.i |= sign;
	return u.f;
}

// quants_of takes the quants out of a block.
static inline void quants_of(int8_t *q, const uint8_t *b)
{
	for (int s = 0; s < SUBS; s++)
		for (int l = 0; l < SUB; l++)
			q[SUB * s + l] = b[16 + s / 2 * 32 + l] >> s % 2 * 4 & 15;
}

// bytes_of takes the scales and minima of the sub-blocks out of a block, which have six bits each.
static inline void bytes_of(uint8_t *scales, uint8_t *mins, const uint8_t *b)
{
	uint32_t u[3];
	__builtin_memcpy(u, b + 4, 12);
	const uint32_t upper = (u[2] & 0x0f0f0f0f) | (u[0] >> 2 & 0x30303030), least = (u[2] >> 4 & 0x0f0f0f0f) | (u[1] >> 2 & 0x30303030);
	// One store each, because loads of eight bytes wait for the last of several stores.
	const uint64_t all = (u[0] & 0x3f3f3f3f) | (uint64_t)upper << 32, all_mins = (u[1] & 0x3f3f3f3f) | (uint64_t)least << 32;
	__builtin_memcpy(scales, &all, 8);
	__builtin_memcpy(mins, &all_mins, 8);
}

// scales_of returns the scales of the sub-blocks of a block, and what is taken off for each quant of the activations.
static inline void scales_of(float *scale, float *min, const uint8_t *b)
{
	uint8_t scales[SUBS], mins[SUBS];
	bytes_of(scales, mins, b);
	const float d = half(b), least = half(b + 2);
	for (int s = 0; s < SUBS; s++) {
		scale[s] = d * scales[s];
		min[s] = least * mins[s];
	}
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *restrict a = args[0];
	const uint8_t *restrict w = args[1];
	float *restrict c = args[2];
	const int64_t m = dims[0], n = dims[1], k = dims[2], blocks = k / BLOCK, subs = blocks * SUBS;
	struct scratch_small small;
	float *restrict d = reserve(&small, 4 * (m * (blocks + subs) + 2 * subs) + (m + 1) * k);
	int32_t *restrict sums = (int32_t *)(d + m * blocks);
	float *restrict scale = (float *)(sums + m * subs), *restrict min = scale + subs;
	int8_t *restrict x = (int8_t *)(min + subs);
	uint8_t *restrict u = (uint8_t *)(x + m * k); // the quants of a row of w, with a centre added
	for (int64_t b = 0; b < m * blocks; b++)
		d[b] = quantise(x + b * BLOCK, a + b * BLOCK);
	for (int64_t s = 0; s < m * subs; s++) {
		sums[s] = 0;
		for (int l = 0; l < SUB; l++)
			sums[s] += x[s * SUB + l];
	}
	for (int64_t j = 0; j < n; j++) {
		for (int64_t b = 0; b < blocks; b++) {
			int8_t q[BLOCK];
			quants_of(q, w);
			for (int l = 0; l < BLOCK; l++)
				u[b * BLOCK + l] = (uint8_t)(q[l] + 0);
			scales_of(scale + b * SUBS, min + b * SUBS, w);
			w += BLOCK_BYTES;
		}
		for (int64_t i = 0; i < m; i++) {
			float sum = 0;
			for (int64_t b = 0; b < blocks; b++) {
				float part = 0;
				for (int64_t s = b * SUBS; s < (b + 1) * SUBS; s++) {
					int32_t dot = 0;
					for (int l = 0; l < SUB; l++)
						dot += u[s * SUB + l] * x[i * k + s * SUB + l];
					part += scale[s] * (float)(dot - 0 * sums[i * subs + s]);
					part -= min[s] * (float)sums[i * subs + s];
				}
				sum += d[i * blocks + b] * part;
			}
			c[i * n + j] = sum;
		}
	}
	give_back(&small, d);
}
