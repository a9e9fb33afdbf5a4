// code=plain compiler=gcc opt=O3 isa=native unroll_loops=false
// gcc -std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -march=native
// rowwise, softmax: code=plain compiler=gcc opt=O3 isa=native unroll_loops=false
#include <math.h>
#include <stdint.h>

struct call {
	const float *x;
	float *y;
	int64_t rows, cols;
};

static void span(const struct call *c, int64_t from, int64_t to)
{
	const int64_t n = c->cols;
for (int64_t row = from; row < to; row++) {
		const float *restrict x = c->x + row * n;
		float *restrict y = c->y + row * n;
		float top = -INFINITY;
		for (int64_t i = 0; i < n; i++)
			top = x[i] > top ? x[i] : top;
		double sum = 0;
		for (int64_t i = 0; i < n; i++) {
			y[i] = expf(x[i] - top);
			sum += y[i];
		}
		const float scale = (float)(1 / sum);
		for (int64_t i = 0; i < n; i++)
			y[i] *= scale;
	}
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	struct call c = { args[0], args[1], dims[0], dims[1] };
	span(&c, 0, c.rows);
}
