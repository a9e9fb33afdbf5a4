/* The defaults are for compiling this file by itself; tune defines its own values before it. */
#ifndef THREADS
#define THREADS 1
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif
#ifndef BLOCK_X
#define BLOCK_X 1024
#endif
#ifndef SIMD
#define SIMD 0
#endif
#ifndef SCHEDULE /* which has no value where there is one thread */
#define SCHEDULE static
#endif

static inline int least(int a, int b) { return a < b ? a : b; }

static inline float point(const float *p, int w, float rate)
{
	return p[0] + rate * (p[-w] + p[w] + p[-1] + p[1] - 4 * p[0]);
}

/* The border keeps its values. */
void step(float *restrict next, const float *restrict now, int h, int w, float rate)
{
	for (int x = 0; x < w; x++) {
		next[x] = now[x];
		next[(long)(h - 1) * w + x] = now[(long)(h - 1) * w + x];
	}
#if THREADS > 1
#pragma omp parallel for num_threads(THREADS) schedule(SCHEDULE)
#endif
	for (int y0 = 1; y0 < h - 1; y0 += BLOCK_Y) {
		int y1 = least(y0 + BLOCK_Y, h - 1);
		for (int x0 = 1; x0 < w - 1; x0 += BLOCK_X) {
			int x1 = least(x0 + BLOCK_X, w - 1);
			for (int y = y0; y < y1; y++) {
				const float *p = now + (long)y * w;
				float *q = next + (long)y * w;
#if SIMD
#pragma omp simd
#endif
				for (int x = x0; x < x1; x++)
					q[x] = point(p + x, w, rate);
			}
		}
		for (int y = y0; y < y1; y++) {
			next[(long)y * w] = now[(long)y * w];
			next[(long)y * w + w - 1] = now[(long)y * w + w - 1];
		}
	}
}

void step_plain(float *next, const float *now, int h, int w, float rate)
{
	for (long y = 0; y < h; y++)
		for (long x = 0; x < w; x++) {
			const float *p = now + y * w + x;
			int border = y == 0 || y == h - 1 || x == 0 || x == w - 1;
			next[y * w + x] = border ? *p : (float)(p[0] + (double)rate * ((double)p[-w] + p[w] + p[-1] + p[1] - 4.0 * p[0]));
		}
}
