/* Loops that do nothing but keep the arithmetic units of one core busy. Instructions are written in assembly, and not by the functions of
   immintrin.h: to read that header takes a compiler four times as long as all the rest. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#include <cpuid.h>
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
typedef int32_t i4 __attribute__((vector_size(16)));
#if defined(__x86_64__)
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef int32_t i16 __attribute__((vector_size(64)));
#endif

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

/* Products of integers of 16 bits with sums of 32, which every processor has. */
static void shorts(uint32_t *sink, int64_t n)
{
	const i4 x = (i4){0} + bytes, y = (i4){0} + bytes;
#if defined(__x86_64__)
#define DECLARE(k) i4 a##k = x + k;
#define STEP(k) __asm__ volatile("movdqa %2, %1\n\tpmaddwd %3, %1\n\tpaddd %1, %0" : "+x"(a##k), "=&x"(t) : "x"(x), "x"(y));
	i4 t;
#else
	/* Lanes of 32 bits: as many products at once as of 16 bits with sums of 32. */
#define DECLARE(k) i4 a##k = x + k;
#define STEP(k) a##k = a##k * x + y; a##k = a##k * y + x;
#endif
#define STORE(k) ((volatile i4 *)sink)[k] = a##k;
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
__attribute__((target("avx2,fma"))) static void load2(uint32_t *sink, int64_t n) { LOADS(v8, sink, n); }
__attribute__((target("avx512f"))) static void load512(uint32_t *sink, int64_t n) { LOADS(v16, sink, n); }
#endif

/* Streams: reads of a buffer from one end to the other, in one run or in four at once, which the prefetchers of some processors
   like better; and copies of its first half to the second, by plain stores or past the caches. */
enum { READ = 13, READ4 = 14, COPY = 15, COPY_PAST = 16, STREAMS = 1 << READ | 1 << READ4 | 1 << COPY | 1 << COPY_PAST };

static void read_runs(const uint8_t *from, int64_t size, int runs)
{
	const int64_t each = size / runs / 4096 * 4096;
#if defined(__x86_64__)
	const int wide = __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2");
#endif
	for (int64_t at = 0; at < each; at += 4096)
		for (int r = 0; r < runs; r++) {
			uint32_t *p = (uint32_t *)(from + r * each + at);
#if defined(__x86_64__)
			if (wide == 2)
				load512(p, 1);
			else if (wide == 1)
				load2(p, 1);
			else
#endif
				load(p, 1);
		}
}

#define COPY_LOOP(type, to, from, size, store) do { \
	const type *f = (const type *)(from); \
	type *t = (type *)(to); \
	for (int64_t i = 0; i < (size) / (int64_t)sizeof *f; i += 4) { \
		const type a = f[i], b = f[i + 1], c = f[i + 2], d = f[i + 3]; \
		store(t + i, a); store(t + i + 1, b); store(t + i + 2, c); store(t + i + 3, d); \
	} \
} while (0)
#define PLAIN_STORE(p, v) (*(p) = (v))

static void copy(uint8_t *to, const uint8_t *from, int64_t size) { COPY_LOOP(v4, to, from, size, PLAIN_STORE); }

#if defined(__x86_64__)
#define PAST(p, v) __asm__ volatile("movntps %1, %0" : "=m"(*(p)) : "x"(v))
#define PAST_WIDE(p, v) __asm__ volatile("vmovntps %1, %0" : "=m"(*(p)) : "v"(v))
__attribute__((target("avx2,fma"))) static void copy2(uint8_t *to, const uint8_t *from, int64_t size, int past)
{
	if (past)
		COPY_LOOP(v8, to, from, size, PAST_WIDE);
	else
		COPY_LOOP(v8, to, from, size, PLAIN_STORE);
}

__attribute__((target("avx512f"))) static void copy512(uint8_t *to, const uint8_t *from, int64_t size, int past)
{
	if (past)
		COPY_LOOP(v16, to, from, size, PAST_WIDE);
	else
		COPY_LOOP(v16, to, from, size, PLAIN_STORE);
}
#endif

static void copy_half(uint8_t *buffer, int64_t size, int past)
{
	const int64_t half = size / 2 / 4096 * 4096;
	uint8_t *to = buffer + half;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		copy512(to, buffer, half, past);
	else if (__builtin_cpu_supports("avx2"))
		copy2(to, buffer, half, past);
	else if (past)
		COPY_LOOP(v4, to, buffer, half, PAST);
	else
		copy(to, buffer, half);
	if (past)
		__builtin_ia32_sfence();
#else
	(void)past;
	copy(to, buffer, half);
#endif
}

/* The buffer is this file's own, because those of a call are written and copied between samples, which takes longer than the probe.
   It has small pages, as those of a call do. */
static void *stream_buffer(int64_t size)
{
	static void *buffer;
	static int64_t has;
	if (size > has) {
		free(buffer);
		has = size;
		buffer = aligned_alloc(4096, size);
		if (!buffer)
			abort();
#ifdef MADV_NOHUGEPAGE
		madvise(buffer, size, MADV_NOHUGEPAGE);
#endif
		__builtin_memset(buffer, 1, size);
	}
	return buffer;
}

static void stream(int64_t kind, int64_t n, int64_t size)
{
	void *buffer = stream_buffer(size);
	for (int64_t i = 0; i < n; i++)
		switch (kind) {
		case READ:
			read_runs(buffer, size, 1);
			break;
		case READ4:
			read_runs(buffer, size, 4);
			break;
		default:
			copy_half(buffer, size, kind == COPY_PAST);
		}
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void avx2(uint32_t *sink, int64_t n)
{
	const v8 x = (v8){0} + one, y = (v8){0} + tiny;
#define DECLARE(k) v8 a##k = y + k;
#define STEP(k) a##k = a##k * x + y;
#define STORE(k) ((volatile v8 *)sink)[k] = a##k;
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
	const v16 x = (v16){0} + one, y = (v16){0} + tiny;
#define DECLARE(k) v16 a##k = y + k;
#define STEP(k) a##k = a##k * x + y;
#define STORE(k) ((volatile v16 *)sink)[k] = a##k;
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

/* Products of bytes where no instruction adds four of them to a sum of 32 bits: pairs are added in 16 bits, then in 32. */
#define BYTES(name, type, features, chains, constraint) \
__attribute__((target(features))) static void name(uint32_t *sink, int64_t n) \
{ \
	typedef type ints; \
	const ints x = (ints){0} + bytes, y = (ints){0} + bytes, ones = (ints){0} + (bytes & 0x00010001); \
	ints t; \
	chains(DECLARE) \
	for (int64_t i = 0; i < n; i++) { \
		chains(STEP_##constraint) \
	} \
	chains(STORE) \
}
#define DECLARE(k) ints a##k = x + k;
#define STEP(k, constraint) \
	__asm__ volatile("vpmaddubsw %2, %3, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0" : "+" constraint(a##k), "=&" constraint(t) \
		: constraint(x), constraint(y), constraint(ones));
#define STEP_x(k) STEP(k, "x")
#define STEP_v(k) STEP(k, "v")
#define STORE(k) ((volatile ints *)sink)[k] = a##k;
#define ALL(f) TWELVE(f) MORE(f)
BYTES(bytes256, i8, "avx2", TWELVE, x)
BYTES(bytes512, i16, "avx512f,avx512bw", ALL, v)
#undef DECLARE
#undef STEP
#undef STORE

/* The encoding of AVX-VNNI is newer than some assemblers, and the processors that have it alone are few. */
#if defined(__clang_major__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define HAVE_AVXVNNI 1
__attribute__((target("avx2,avxvnni"))) static void avxvnni(uint32_t *sink, int64_t n)
{
	const i8 x = (i8){0} + bytes, y = (i8){0} + bytes;
#define DECLARE(k) i8 a##k = x + k;
#define STEP(k) __asm__ volatile("%{vex%} vpdpbusd %1, %2, %0" : "+x"(a##k) : "x"(x), "x"(y));
#define STORE(k) ((volatile i8 *)sink)[k] = a##k;
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
	const i16 x = (i16){0} + bytes, y = (i16){0} + bytes;
#define DECLARE(k) i16 a##k = x + k;
#define STEP(k) __asm__ volatile("vpdpbusd %1, %2, %0" : "+v"(a##k) : "v"(x), "v"(y));
#define STORE(k) ((volatile i16 *)sink)[k] = a##k;
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}

/* The encodings of the next two are newer than some compilers; a compiler that lacks them leaves their rates out. */
#if defined(__clang_major__) ? __clang_major__ >= 10 : __GNUC__ >= 10
#define HAVE_BF16 1
__attribute__((target("avx512f,avx512bf16"))) static void avx512bf16(uint32_t *sink, int64_t n)
{
	const i16 x = (i16){0} + 0x3f803f80, y = (i16){0} + 0x00010001 * (bytes & 0x7f);
#define DECLARE(k) v16 a##k = (v16){0} + (tiny + k);
#define STEP(k) __asm__ volatile("vdpbf16ps %1, %2, %0" : "+v"(a##k) : "v"(x), "v"(y));
#define STORE(k) ((volatile v16 *)sink)[k] = a##k;
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}
#endif

#if defined(__clang_major__) ? __clang_major__ >= 14 : __GNUC__ >= 12
#define HAVE_FP16 1
__attribute__((target("avx512fp16"))) static void avx512fp16(uint32_t *sink, int64_t n)
{
	const i16 x = (i16){0} + 0x3c003c00, y = (i16){0} + bytes;
#define DECLARE(k) i16 a##k = y + k;
#define STEP(k) __asm__ volatile("vfmadd213ph %2, %1, %0" : "+v"(a##k) : "v"(x), "v"(y));
#define STORE(k) ((volatile i16 *)sink)[k] = a##k;
	TWELVE(DECLARE) MORE(DECLARE)
	for (int64_t i = 0; i < n; i++) {
		TWELVE(STEP) MORE(STEP)
	}
	TWELVE(STORE) MORE(STORE)
#undef DECLARE
#undef STEP
#undef STORE
}
#endif

/* Products of tiles: four accumulators, with two tiles of either operand loaded from the nearest cache at each step, as the inner
   loop of a matrix product does. Tiles of zeros are a quarter faster than others, so these are not. */
#if defined(__clang_major__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#define HAVE_TILES 1
static void tile_configure(void)
{
	struct { uint8_t palette, start, reserved[14]; uint16_t columns[16]; uint8_t rows[16]; } c;
	__builtin_memset(&c, 0, sizeof c);
	c.palette = 1;
	for (int t = 0; t < 8; t++) {
		c.columns[t] = 64;
		c.rows[t] = 16;
	}
	__asm__ volatile("ldtilecfg %0" :: "m"(c) : "memory");
}

#define TILES(name, product, operand) \
static void name(uint32_t *sink, int64_t n) \
{ \
	static uint8_t operands[4][1024] __attribute__((aligned(64))); \
	static int filled; \
	uint32_t random = 1; \
	for (int i = filled ? 4096 : 0; i < 4096; i += operand) { \
		random = random * 1664525 + 1013904223; \
		const uint32_t value = operand == 1 ? random >> 24 : 0x3f00 + (random >> 25); \
		__builtin_memcpy(operands[0] + i, &value, operand); \
	} \
	filled = 1; \
	tile_configure(); \
	const int64_t stride = 64; \
	__asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::: "memory"); \
	for (int64_t i = 0; i < n; i++) \
		__asm__ volatile( \
			"tileloadd (%0,%4,1), %%tmm4\n\ttileloadd (%1,%4,1), %%tmm5\n\t" \
			"tileloadd (%2,%4,1), %%tmm6\n\ttileloadd (%3,%4,1), %%tmm7\n\t" \
			product " %%tmm6, %%tmm4, %%tmm0\n\t" product " %%tmm7, %%tmm4, %%tmm1\n\t" \
			product " %%tmm6, %%tmm5, %%tmm2\n\t" product " %%tmm7, %%tmm5, %%tmm3" \
			:: "r"(operands[0]), "r"(operands[1]), "r"(operands[2]), "r"(operands[3]), "r"(stride) : "memory"); \
	__asm__ volatile("tilestored %%tmm3, (%0,%1,1)\n\ttilerelease" :: "r"(sink), "r"(stride) : "memory"); \
}
TILES(tile_i8, "tdpbusd", 1)
TILES(tile_bf16, "tdpbf16ps", 2)
#undef TILES
#endif

#ifdef HAVE_TILES
/* permitted reports whether the system lets this process use tiles, which the worker has asked for: xgetbv says what it has enabled,
   arch_prctl (158) what it permits (0x1022). */
static int permitted(void)
{
	uint64_t state = 0;
	long failed;
	__asm__ volatile("syscall" : "=a"(failed) : "a"(158L), "D"(0x1022L), "S"(&state) : "rcx", "r11", "memory");
	return !failed && state >> 18 & 1;
}
#endif

static uint32_t supported(void)
{
	uint32_t mask = 1u << 0 | 1u << 1 | 1u << 6 | STREAMS;
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
	if (mask >> 3 & 1 && __get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		mask |= (c >> 11 & 1) << 5;
#ifdef HAVE_FP16
		mask |= (d >> 23 & 1) << 10;
#endif
#ifdef HAVE_TILES
		if (d >> 24 & 1 && permitted())
			mask |= (d >> 25 & 1) << 11 | (d >> 22 & 1) << 12;
#endif
	}
#ifdef HAVE_BF16
	if (mask >> 3 & 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
		mask |= (a >> 5 & 1) << 9;
#endif
	if (!(mask & (1u << 4 | 1u << 5 | 1u << 11)))
		mask |= 1u << (__builtin_cpu_supports("avx512bw") && mask >> 3 & 1 ? 19 : mask >> 2 & 1 ? 18 : 17);
	return mask;
}
#else
static uint32_t supported(void) { return 1u << 0 | 1u << 1 | 1u << 6 | 1u << 17 | STREAMS; }
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
	case READ:
	case READ4:
	case COPY:
	case COPY_PAST:
		stream(dims[0], dims[1], dims[2]);
		break;
	case 6:
		load(sink, dims[1]);
		break;
	case 17:
		shorts(sink, dims[1]);
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
	case 18:
		bytes256(sink, dims[1]);
		break;
	case 19:
		bytes512(sink, dims[1]);
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
#ifdef HAVE_BF16
	case 9:
		avx512bf16(sink, dims[1]);
		break;
#endif
#ifdef HAVE_FP16
	case 10:
		avx512fp16(sink, dims[1]);
		break;
#endif
#ifdef HAVE_TILES
	case 11:
		tile_i8(sink, dims[1]);
		break;
	case 12:
		tile_bf16(sink, dims[1]);
		break;
#endif
#endif
	}
}
