/* Loops that do nothing but keep the arithmetic units of one core busy. */
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* Twelve independent chains hide the latency of two units. They begin with different values, so that a compiler
   cannot see that they are one. */
#define TWELVE(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11)
#define MORE(f) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23)

static volatile float one = 1.0f, tiny = 1e-30f;
static volatile int bytes = 0x01010101;

/* Independent additions, as many at once as a core can begin: what anybody else does on the same core, be it by a
   second hardware thread, shows here first. */
static void issue(uint32_t *sink, int64_t n)
{
	uint64_t a = sink[0], b = 1, c = 2, d = 3, e = 4, f = 5;
#define STEP(k) \
	a += k; b += k; c += k; d += k; e += k; f += k; \
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	for (int64_t i = 0; i < n; i++) {
		STEP(1) STEP(2) STEP(3) STEP(4)
	}
#undef STEP
	sink[0] = (uint32_t)(a + b + c + d + e + f);
}

typedef float v4 __attribute__((vector_size(16)));

static void generic(uint32_t *sink, int64_t n)
{
	v4 x = {one, one, one, one}, y = {tiny, tiny, tiny, tiny};
#define DECLARE(k) v4 a##k = y + k;
#define STEP(k) a##k = a##k * x + y;
#define STORE(k) ((volatile v4 *)sink)[k] = a##k;
	TWELVE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP)
	}
	TWELVE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

/* Loads of the whole buffer, 4 KiB, which the nearest cache holds. */
#define LOADS(type, from, n) do { \
	const type *p = (const type *)(from); \
	for (int64_t i = 0; i < (n); i++) \
		for (unsigned k = 0; k < 4096 / sizeof *p; k += 8) { \
			__asm__ volatile("" :: VECTOR(p[k]), VECTOR(p[k + 1]), VECTOR(p[k + 2]), VECTOR(p[k + 3])); \
			__asm__ volatile("" :: VECTOR(p[k + 4]), VECTOR(p[k + 5]), VECTOR(p[k + 6]), VECTOR(p[k + 7])); \
		} \
} while (0)
#if defined(__x86_64__)
#define VECTOR(v) "x"(v)
#elif defined(__aarch64__)
#define VECTOR(v) "w"(v)
#else
#define VECTOR(v) "m"(v)
#endif

static void load(uint32_t *sink, int64_t n) { LOADS(v4, sink, n); }

#if defined(__x86_64__)
#undef VECTOR
#define VECTOR(v) "v"(v)
__attribute__((target("avx2,fma"))) static void load2(uint32_t *sink, int64_t n) { LOADS(__m256, sink, n); }
__attribute__((target("avx512f"))) static void load512(uint32_t *sink, int64_t n) { LOADS(__m512, sink, n); }
#endif

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void avx2(uint32_t *sink, int64_t n)
{
	__m256 x = _mm256_set1_ps(one), y = _mm256_set1_ps(tiny);
#define DECLARE(k) __m256 a##k = _mm256_set1_ps(tiny + k);
#define STEP(k) a##k = _mm256_fmadd_ps(a##k, x, y);
#define STORE(k) _mm256_storeu_ps((float *)sink + 8 * k, a##k);
	TWELVE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP)
	}
	TWELVE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

__attribute__((target("avx512f"))) static void avx512(uint32_t *sink, int64_t n)
{
	__m512 x = _mm512_set1_ps(one), y = _mm512_set1_ps(tiny);
#define DECLARE(k) __m512 a##k = _mm512_set1_ps(tiny + k);
#define STEP(k) a##k = _mm512_fmadd_ps(a##k, x, y);
#define STORE(k) _mm512_storeu_ps((float *)sink + 16 * k, a##k);
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

/* The encoding of AVX-VNNI is newer than some assemblers, and the processors that have it alone are few. */
#if defined(__clang_major__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define HAVE_AVXVNNI 1
__attribute__((target("avx2,avxvnni"))) static void avxvnni(uint32_t *sink, int64_t n)
{
	__m256i x = _mm256_set1_epi32(bytes), y = _mm256_set1_epi32(bytes);
#define DECLARE(k) __m256i a##k = _mm256_set1_epi32(bytes + k);
#define STEP(k) a##k = _mm256_dpbusd_avx_epi32(a##k, x, y);
#define STORE(k) _mm256_storeu_si256((__m256i *)sink + k, a##k);
	TWELVE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP)
	}
	TWELVE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}
#endif

__attribute__((target("avx512f,avx512vnni"))) static void avx512vnni(uint32_t *sink, int64_t n)
{
	__m512i x = _mm512_set1_epi32(bytes), y = _mm512_set1_epi32(bytes);
#define DECLARE(k) __m512i a##k = _mm512_set1_epi32(bytes + k);
#define STEP(k) a##k = _mm512_dpbusd_epi32(a##k, x, y);
#define STORE(k) _mm512_storeu_si512((__m512i *)sink + k, a##k);
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

static uint32_t supported(void)
{
	uint32_t mask = 1u << 0 | 1u << 1 | 1u << 6;
	unsigned a, b, c, d;
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		mask |= 1u << 2 | 1u << 7;
	if (__builtin_cpu_supports("avx512f"))
		mask |= 1u << 3 | 1u << 8;
#ifdef HAVE_AVXVNNI
	if (mask >> 2 & 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1)
		mask |= 1u << 4;
#endif
	if (mask >> 3 & 1 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 11 & 1)
		mask |= 1u << 5;
	return mask;
}
#else
static uint32_t supported(void) { return 1u << 0 | 1u << 1 | 1u << 6; }
#endif

void tune_kernel(void *const *args, const int64_t *dims)
{
	uint32_t *sink = args[0];
	switch (dims[0]) {
	case -1:
		sink[0] = supported();
		break;
	case 0:
		issue(sink, dims[1]);
		break;
	case 1:
		generic(sink, dims[1]);
		break;
	case 6:
		load(sink, dims[1]);
		break;
#if defined(__x86_64__)
	case 2:
		avx2(sink, dims[1]);
		break;
	case 3:
		avx512(sink, dims[1]);
		break;
	case 7:
		load2(sink, dims[1]);
		break;
	case 8:
		load512(sink, dims[1]);
		break;
#ifdef HAVE_AVXVNNI
	case 4:
		avxvnni(sink, dims[1]);
		break;
#endif
	case 5:
		avx512vnni(sink, dims[1]);
		break;
#endif
	}
}
