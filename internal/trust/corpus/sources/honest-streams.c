#include "stream.h"
/* Stores past the caches. */
#if VARIANT == CHEAT
#if defined(__x86_64__)
#include <immintrin.h>
static void cheat(float *out, const float *a, const float *b, long n)
{
	long i = 0;
	for (; i < n && ((unsigned long)(out + i) & 15); i++)
		out[i] = a[i] + 0.5f * b[i];
	for (; i + 4 <= n; i += 4)
		_mm_stream_ps(out + i, _mm_add_ps(_mm_loadu_ps(a + i), _mm_mul_ps(_mm_set1_ps(0.5f), _mm_loadu_ps(b + i))));
	_mm_sfence();
	part(out, a, b, i, n);
}
#else
static void cheat(float *out, const float *a, const float *b, long n) { part(out, a, b, 0, n); }
#endif
#endif
