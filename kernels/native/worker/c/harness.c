/*
 * The timing loop. It is a separate translation unit, compiled to a separate shared object that is loaded before any candidate. A
 * candidate shares no symbol with it, and cannot replace a function that it calls, because it calls none: it reads the clock directly
 * by the system call. It calls the candidate through a pointer, so that neither inlining nor hoisting can shorten the loop.
 *
 * It executes a plan that the worker has written: before each timed stretch it changes the content of the buffers, and after it
 * takes evidence. The memory layouts are those of the Go types operation, step, stretch and harnessRun.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("no-tree-loop-distribute-patterns")
#endif
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef __UINT8_TYPE__ u8;
typedef u64 v2 __attribute__((vector_size(16), aligned(1), may_alias));
typedef u64 word __attribute__((aligned(1), may_alias));
typedef __UINT32_TYPE__ half __attribute__((aligned(1), may_alias));

/* size of IMMEDIATE: put so many bytes of from itself at to, for what changes between timed calls: nothing waits for the memory of the inputs.
   size > 0: copy so many bytes. size < 0: read so many bytes at to, a line at a time. size = 0: change the two halves of
   the eight bytes at to by the bits of from, but not one that holds what it held before any call: nobody writes it. */
#define IMMEDIATE ((i64)1 << 40)
/* size of FILL: write the eight bytes of from itself over so many bytes at to, past the caches. */
#define FILL ((i64)1 << 41)
struct operation { u8 *to; const u8 *from; i64 size; };
/* The operations up to end come before one call on the buffers of set. */
struct step { void *const *set; i64 end; };
/* The operations up to before, then, timed, the steps up to steps, then the operations up to after. */
struct stretch { i64 before, steps, after, begin, end; };
struct run {
	void (*call)(void *const *, const i64 *);
	const i64 *dims;
	const struct operation *operations;
	const struct step *steps;
	struct stretch *stretches;
	i64 count, clock, begin, end, overhead;
	/* Stretches that only warm up; how often the thread waited after them, and the wall clock before and after all. */
	i64 warm, waits, wall[2];
};

static inline i64 now(i64 clock)
{
	i64 t[2];
#if defined(__x86_64__)
	i64 result = 228;
	__asm__ volatile("syscall" : "+a"(result) : "D"(clock), "S"(t) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register i64 x8 __asm__("x8") = 113;
	register i64 x0 __asm__("x0") = clock;
	register i64 x1 __asm__("x1") = (i64)t;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
#endif
	return t[0] * 1000000000 + t[1];
}

/* How often this thread has given its core away because it had to wait: ru_nvcsw of getrusage(RUSAGE_THREAD). */
static inline i64 waits(void)
{
	i64 usage[18] = {0};
#if defined(__x86_64__)
	i64 result = 98;
	__asm__ volatile("syscall" : "+a"(result) : "D"(1L), "S"(usage) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register i64 x8 __asm__("x8") = 165;
	register i64 x0 __asm__("x0") = 1;
	register i64 x1 __asm__("x1") = (i64)usage;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
#endif
	return usage[16];
}

static inline void fill(u8 *to, u64 value, i64 n)
{
	for (; n > 0; n -= 8, to += 8) {
#if defined(__x86_64__)
		__asm__ volatile("movnti %1, %0" : "=m"(*(word *)to) : "r"(value));
#else
		*(word *)to = value;
#endif
	}
#if defined(__x86_64__)
	__asm__ volatile("sfence" ::: "memory");
#endif
}

static inline void perform(const struct operation *o, const struct operation *end)
{
	for (; o < end; o++) {
		u8 *to = o->to;
		const u8 *from = o->from;
		i64 n = o->size;
		if (n == 0) {
			half *h = (half *)to;
			if (h[0] != 0xffa7ffa7)
				h[0] ^= (half)(u64)from;
			if (h[1] != 0xffa7ffa7)
				h[1] ^= (half)((u64)from >> 32);
		} else if (n == (IMMEDIATE | 8)) {
			*(word *)to = (u64)from;
		} else if (n == (IMMEDIATE | 4)) {
			*(half *)to = (half)(u64)from;
		} else if (n & IMMEDIATE && n > 0) {
			u64 value = (u64)from;
			for (n &= IMMEDIATE - 1; n > 0; n--, value >>= 8)
				*to++ = (u8)value;
		} else if (n & FILL && n > 0) {
			fill(to, (u64)from, n & (FILL - 1));
		} else if (n == 8) {
			*(word *)to = *(const word *)from;
		} else if (n == 4) {
			*(half *)to = *(const half *)from;
		} else if (n > 0) {
			for (; n >= 64; n -= 64, to += 64, from += 64) {
				v2 a = ((const v2 *)from)[0], b = ((const v2 *)from)[1], c = ((const v2 *)from)[2], d = ((const v2 *)from)[3];
				((v2 *)to)[0] = a, ((v2 *)to)[1] = b, ((v2 *)to)[2] = c, ((v2 *)to)[3] = d;
			}
			for (; n > 0; n--)
				*to++ = *from++;
		} else {
			for (n = -n; n > 0; n -= 64, to += 64)
				(void)*(volatile u8 *)to;
		}
	}
}

/* A candidate that does nothing: a run with it shows what the harness itself does. */
__attribute__((visibility("default"), noinline)) void tune_nothing(void *const *buffers, const i64 *dims)
{
	(void)buffers, (void)dims;
}

__attribute__((visibility("default"), noinline)) void tune_harness(struct run *r)
{
	void (*volatile call)(void *const *, const i64 *) = r->call;
	const i64 *dims = r->dims;
	const struct operation *operations = r->operations;
	const struct step *steps = r->steps;
	i64 clock = r->clock, least = 1000000000;
	i64 waited = waits();
	r->wall[0] = now(1);
	r->begin = now(clock);
	for (i64 i = 0; i < 16; i++) {
		i64 begin = now(clock), took = now(clock) - begin;
		if (took > 0 && took < least)
			least = took;
	}
	i64 at = 0, step = 0;
	for (i64 i = 0; i < r->count; i++) {
		struct stretch *s = &r->stretches[i];
		perform(operations + at, operations + s->before);
		at = s->before;
		i64 begin = now(clock);
		for (; step < s->steps; step++) {
			perform(operations + at, operations + steps[step].end);
			at = steps[step].end;
			call(steps[step].set, dims);
			__asm__ volatile("" ::: "memory");
		}
		i64 end = now(clock);
		s->begin = begin;
		s->end = end;
		perform(operations + at, operations + s->after);
		at = s->after;
		if (i + 1 == r->warm)
			waited = waits();
	}
	r->overhead = least;
	r->end = now(clock);
	r->wall[1] = now(1);
	r->waits = waits() - waited;
}
