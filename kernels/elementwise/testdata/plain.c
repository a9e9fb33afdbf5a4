// code=plain compiler=gcc opt=O3 isa=native unroll_loops=true
// gcc -std=gnu11 -O3 -fno-math-errno -march=native -funroll-loops
// elementwise-f32, relu: code=plain compiler=gcc opt=O3 isa=native unroll_loops=true
#include <stdint.h>

static inline float one(float a)
{
	return a < 0 ? 0 : a;
}

static void run(const float *restrict a, float *restrict y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = one(a[i]);
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *a = args[0];
	float *y = args[1];
	const int64_t n = dims[0], arrays = dims[1];
	for (int64_t k = 0; k < arrays; k++)
		run(a + k * n, y + k * n, n);
}
