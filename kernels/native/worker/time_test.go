//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// variants returns n contents of 64 bytes each, all of whose words differ.
func variants(n, size int) (out [][][]byte) {
	for v := range n {
		b := make([]byte, size)
		for i := range size / 4 {
			binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(float32(v*size+i)))
		}
		out = append(out, [][]byte{b, nil})
	}
	return out
}

// load maps buffers of size bytes, A read and C written, with a pool of variants, and loads a candidate.
func loadVaried(t testing.TB, w *Worker, text string, size int, pool [][][]byte, mode Mode) {
	t.Helper()
	buffers := []Buffer{{Name: "A", Bytes: size, Mode: In}, {Name: "C", Bytes: size, Mode: mode}}
	for i := range pool {
		if mode == InOut {
			pool[i][1] = bytes.Clone(pool[i][0])
		}
	}
	if err := w.Map(buffers, pool[0]); err != nil {
		t.Fatal(err)
	}
	p, err := NewPool(buffers, pool, min(len(pool), 3))
	if err == nil {
		err = w.Vary(p)
	}
	if err == nil {
		err = w.Load(compileText(t, ".c", text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// double is C[i] = 2 A[i].
const double = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *A = args[0];
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = 2 * A[i];
}`

// same marks what has not changed since the call before.
const same = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	static float last[1 << 16];
	const float *A = args[0];
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++) {
		C[i] = A[i] == last[i];
		last[i] = A[i];
	}
}`

// TestMixedAnew: a call on inputs that are mixed anew finds nothing of the call before, and no content of the pool.
func TestMixedAnew(t *testing.T) {
	const size = 1 << 18
	w := startTimer(t, Options{})
	pool := variants(3, size)
	loadVaried(t, w, same, size, pool, Out)
	r := TimeRequest{Calls: 1, Samples: 2, Clock: CPU, Sparse: true, Whole: true, Dims: []int64{size / 4}}
	// Only lines of an input that was wholly new, of any variant, may be as they were.
	const lines = linesFull * lineBytes / 4
	found := 0
	for range 10 {
		got, err := w.Time(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Whole <= 0 {
			t.Error("no call on new inputs was timed")
		}
		for _, e := range got.Evidence {
			if e.Variant >= 0 || e.Sample >= 0 {
				continue
			}
			found++
			unchanged := float32(0)
			for _, v := range asFloats(e.Wrote[1]) {
				unchanged += v
			}
			if unchanged > lines {
				t.Errorf("%g of %d elements are as they were in the call before", unchanged, size/4)
			}
			for i := range pool {
				if bytes.Equal(e.Given[0], pool[i][0]) {
					t.Errorf("the content is variant %d", i)
				}
			}
		}
	}
	if found == 0 {
		t.Error("there was no evidence of such a call")
	}
}

// finds counts the elements of its output that are right before it writes them.
const finds = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *A = args[0];
	float *C = args[1], found = 0;
	for (int64_t i = 0; i < dims[0]; i++) {
		found += C[i] == 2 * A[i];
		C[i] = 2 * A[i];
	}
	C[0] = found;
}`

// TestRefill: where inputs change in a few lines only, a call finds nothing of its result in its output if that is to be overwritten, and most of
// it otherwise.
func TestRefill(t *testing.T) {
	for _, size := range []int{1 << 16, 1<<16 + 12} {
		for _, r := range []TimeRequest{{Sparse: true}, {Cold: true, Copies: 4}} {
			for _, refill := range []bool{false, true} {
				w := startTimer(t, Options{})
				loadVaried(t, w, finds, size, variants(3, size), Out)
				r.Calls, r.Samples, r.Clock, r.Dims, r.Refill = 1, 24, CPU, []int64{int64(size / 4)}, refill
				most := float32(0)
				for range 3 {
					got, err := w.Time(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range got.Evidence {
						most = max(most, asFloats(e.Wrote[1])[0])
					}
				}
				if refill && most > 0 || !refill && most < float32(size/4/2) {
					t.Errorf("%d bytes, %+v: a call found %g elements", size, r, most)
				}
			}
		}
	}
}

// samples counts how often eight elements of its input, far apart, are those of a call before: of the last one, and of any. Contents as they stand
// in the pool do not count.
const samples = `
#include <stdint.h>
#include <string.h>
static float kept[4096][8];
static int64_t known, last, any;
void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *A = args[0];
	float *C = args[1], now[8];
	int whole = 1;
	for (int i = 0; i < 8; i++) {
		now[i] = A[(2 * i + 1) * dims[0] / 16];
		whole &= i == 0 || (int)(now[i] / (4 * dims[0])) == (int)(now[i - 1] / (4 * dims[0]));
	}
	if (!whole) {
		last += known > 0 && memcmp(kept[known - 1], now, sizeof now) == 0;
		for (int64_t i = 0; i < known; i++)
			if (memcmp(kept[i], now, sizeof now) == 0) { any++; break; }
		if (known < 4096) memcpy(kept[known++], now, sizeof now);
	}
	memset(C, 0, 4 * dims[0]);
	C[0] = known, C[1] = last, C[2] = any;
}`

// TestManyContents: where there are many contents, no call that counts finds an input that was there before, be it in the last request or at
// another place in memory.
func TestManyContents(t *testing.T) {
	for _, c := range []struct{ size, contents int }{{64, 3 + manyContents}, {4096, 3 + manyContents}, {1 << 16, 3 + manyContents}, {1 << 13, leastMixed}, {1 << 18, leastMixed}} {
		size, w := c.size, startTimer(t, Options{})
		loadVaried(t, w, samples, size, variants(c.contents, size), Out)
		known, last, repeated := float32(0), float32(0), float32(0)
		for range 12 {
			got, err := w.Time(t.Context(), TimeRequest{Dims: []int64{int64(size / 4)}, Calls: 20, Samples: 6, Clock: CPU, Places: 3, Touch: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.Evidence {
				c := asFloats(e.Wrote[1])
				known, last, repeated = max(known, c[0]), max(last, c[1]), max(repeated, c[2])
			}
		}
		// Eight parts of four contents are some by chance.
		if known < 1000 || last > 0 || repeated > 0.03*known {
			t.Errorf("%+v: %g contents, of which %g came twice and %g in two calls in a row", c, known, repeated, last)
		}
	}
}

// TestFreshPart: an input is put together from at least 16 parts of at most 8 KiB, in whole lines or elements.
func TestFreshPart(t *testing.T) {
	for _, c := range []struct{ bytes, elem, want int }{
		{4, 4, 4}, {12, 4, 4}, {64, 4, 16}, {512, 8, 128}, {1024, 4, 64}, {8 << 10, 4, 512}, {100_004, 4, 6272}, {128 << 10, 4, 8 << 10}, {2 << 20, 4, 8 << 10},
	} {
		if got := (region{Bytes: c.bytes, Elem: c.elem}).freshPart(); got != c.want {
			t.Errorf("%d bytes in elements of %d: parts of %d bytes, want %d", c.bytes, c.elem, got, c.want)
		}
	}
}

// TestWalk: each content comes once in an order, and so does each at the place of any part.
func TestWalk(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{manyContents, 100, 509, 16381} {
		k := newWalk(3+count, 3)
		for range 3 {
			var seen [freshParts][]bool
			for part := range seen {
				seen[part] = make([]bool, 3+count)
			}
			for range count {
				v := k.next(rng)
				for part := range seen {
					at := k.of(v, 1, part)
					if at < 3 || at >= 3+count || seen[part][at] {
						t.Fatalf("%d contents: %d is out of range, or comes twice as part %d", count, at, part)
					}
					seen[part][at] = true
				}
			}
		}
	}
}

// TestTimeEvidence: the evidence of every kind of request is what the calls were given and wrote; no given content
// repeats itself but those of whole stretches, which are the variants to the letter.
func TestTimeEvidence(t *testing.T) {
	w := startTimer(t, Options{})
	for _, size := range []int{4, 12, 64, 4096, 100_004} {
		for _, r := range []TimeRequest{
			{Calls: 1, Samples: 1, Clock: CPU},
			{Calls: 1, Samples: 3, Clock: CPU, Warm: true},
			{Calls: 200, Samples: 7, Clock: CPU, Window: 20, Touch: true},
			{Calls: 200, Samples: 7, Clock: Wall, Window: 20, Places: 5},
			{Calls: 50, Samples: 4, Clock: CPU, Window: 1, Sparse: true},
			{Calls: 50, Samples: 4, Clock: CPU, Window: 8, Copies: 3, Cold: true},
			{Calls: 50, Samples: 4, Clock: CPU, Window: 8, Copies: 3, Places: 2},
		} {
			pool := variants(3, size)
			loadVaried(t, w, double, size, pool, Out)
			r.Dims = []int64{int64(size / 4)}
			kinds, seen := map[bool]int{}, map[string]bool{}
			for range 3 {
				got, err := w.Time(t.Context(), r)
				if err != nil {
					t.Fatalf("%d bytes, %+v: %v", size, r, err)
				}
				if len(got.Seconds) != r.Samples || len(got.Evidence) == 0 {
					t.Fatalf("%d bytes, %+v: %d samples, %d pieces of evidence", size, r, len(got.Seconds), len(got.Evidence))
				}
				if size <= 4096 {
					// None is fast unseen.
					for s := range got.Seconds {
						if !slices.ContainsFunc(got.Evidence, func(e Evidence) bool { return e.Sample == s }) {
							t.Errorf("%d bytes, %+v: there is no evidence of sample %d", size, r, s)
						}
					}
				}
				for _, s := range got.Seconds {
					if !(s > 0 && s < 1e-2) {
						t.Errorf("%d bytes, %+v: a call took %g s", size, r, s)
					}
				}
				for _, e := range got.Evidence {
					given, wrote := asFloats(e.Given[0]), asFloats(e.Wrote[1])
					for i := range given {
						if wrote[i] != 2*given[i] {
							t.Fatalf("%d bytes, %+v: element %d is %g of %g", size, r, i, wrote[i], given[i])
						}
					}
					whole := e.Variant >= 0
					kinds[whole]++
					if whole && !bytes.Equal(e.Given[0], pool[e.Variant][0]) {
						t.Errorf("%d bytes, %+v: a whole stretch worked on %v, which is not variant %d", size, r, given, e.Variant)
					}
					// Two lines of 4096 bytes, as drawn where there are several copies, give some 24,000 contents: too few to be sure.
					if key := string(e.Given[0]); !whole && (size > 4096 || size == 4096 && r.Copies < 2) {
						if seen[key] {
							t.Errorf("%d bytes, %+v: a content came twice", size, r)
						}
						seen[key] = true
					}
				}
			}
			if size < 1e5 && !r.Warm && r.Calls > 1 && (kinds[true] == 0 || kinds[false] == 0) {
				t.Errorf("%d bytes, %+v: evidence of %v", size, r, kinds)
			}
		}
	}
}

// requestsOfTry is how many requests a timing makes at each try: Prepare, Sample and Result.
const requestsOfTry = 3

// TestKnownCalls: a request for a call on a known variant makes one, on another variant than the call before, and gives evidence of it,
// also of buffers that are changed in place.
func TestKnownCalls(t *testing.T) {
	w := startTimer(t, Options{})
	for _, size := range []int{64, 5 << 19} { // of the latter there is room for one piece of evidence
		for _, r := range []TimeRequest{
			{Calls: 1, Samples: 3, Clock: CPU, Sparse: true},
			{Calls: 1, Samples: 3, Clock: CPU, Warm: true},
			{Calls: 4, Samples: 2, Clock: CPU, Copies: 3, Cold: true},
		} {
			for _, mode := range []Mode{Out, InOut} {
				pool := variants(3, size)
				loadVaried(t, w, double, size, pool, mode)
				r.Dims = []int64{int64(size / 4)}
				if _, err := w.Time(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				known := r
				known.Calls, known.Samples, known.Known = 1, 1, true
				last := -1
				for range 6 {
					before := w.running.seq
					got, err := w.Time(t.Context(), known)
					if err != nil {
						t.Fatal(err)
					}
					if got.Calls != 1 || len(got.Evidence) != 1 || !(got.Seconds[0] > 0) {
						t.Fatalf("%d bytes, %v, %+v: %d calls, %d pieces of evidence, %v", size, mode, r, got.Calls, len(got.Evidence), got.Seconds)
					}
					e := got.Evidence[0]
					// A try whose clocks were refused, on a busy machine, was a call on another variant in between.
					repeated := w.running.seq-before > requestsOfTry
					if e.Variant < 0 || e.Variant == last && r.Copies < 2 && !repeated || !bytes.Equal(e.Given[0], pool[e.Variant][0]) {
						t.Fatalf("%d bytes, %v, %+v: variant %d after %d", size, mode, r, e.Variant, last)
					}
					last = e.Variant
					given := asFloats(e.Given[0])
					for i, v := range asFloats(e.Wrote[1]) {
						if v != 2*given[i] {
							t.Fatalf("%d bytes, %v, %+v: element %d is %g of %g", size, mode, r, i, v, given[i])
						}
					}
				}
			}
		}
	}
}

// TestColdCalls: what is timed out of the caches is called once to warm up, however many copies of its operands there are.
func TestColdCalls(t *testing.T) {
	const counts = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	static float calls;
	float *C = args[1];
	calls++;
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = calls;
}`
	const size, copies, requests = 4096, 100, 3
	w := startTimer(t, Options{})
	loadVaried(t, w, counts, size, variants(3, size), Out)
	calls := float32(0)
	for range requests {
		got, err := w.Time(t.Context(), TimeRequest{Calls: 1, Samples: 1, Clock: CPU, Window: 1, Copies: copies, Cold: true, Dims: []int64{size / 4}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Evidence {
			calls = max(calls, asFloats(e.Wrote[1])[0])
		}
	}
	// A sample may be followed by a call on a whole variant.
	if calls < requests || calls > 3*requests {
		t.Errorf("%d requests of a call made %g calls", requests, calls)
	}
}

// TestSealedArena: a timed candidate cannot close or move the memory of its calls, and tune can still make more of it.
func TestSealedArena(t *testing.T) {
	const text = `#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
void tune_kernel(void *const *args, const int64_t *dims) {
	float *C = args[1];
	char *page = (char *)((uintptr_t)C & ~4095ul);
	for (int64_t i = 0; i < dims[0]; i++) C[i] = 0;
	C[0] = mprotect(page, 4096, PROT_NONE) == 0;
	C[1] = munmap(page, 4096) == 0;
	C[2] = mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, 0x200000000000) != MAP_FAILED;
	C[3] = mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	C[4] = madvise(page, 4096, 102 /* MADV_GUARD_INSTALL */) == 0;
}`
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	if seal(uintptr(unsafe.Pointer(&page[0])), uintptr(len(page))) == unix.ENOSYS {
		t.Skip("this system has no mseal")
	}
	const size = 4096
	w := startTimer(t, Options{})
	before := 0
	for _, places := range []int{1, 600, 2000} {
		loadVaried(t, w, text, size, variants(3, size), Out)
		got, err := w.Time(t.Context(), TimeRequest{Dims: []int64{size / 4}, Calls: 20, Samples: 3, Clock: CPU, Places: places})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Evidence {
			if i := slices.IndexFunc(asFloats(e.Wrote[1]), func(v float32) bool { return v != 0 }); i >= 0 {
				t.Fatalf("%d places: operation %d was allowed", places, i)
			}
		}
		if pid := w.running.pid; before == 0 {
			before = pid
		} else if pid != before {
			t.Errorf("%d places: the worker was replaced", places)
		}
	}
}

// TestTimeCheats: evidence shows what a candidate left out. None of them is seen by a check that loads it anew.
func TestTimeCheats(t *testing.T) {
	const head = `
#include <stdint.h>
#include <string.h>
static float last[1024], in[1024];
static const void *seen;
static int64_t calls;
static void work(float *C, const float *A, int64_t n) { for (int64_t i = 0; i < n; i++) C[i] = 2 * A[i]; }
void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *A = args[0];
	float *C = args[1];
	int64_t n = dims[0];
	calls++;
`
	for name, body := range map[string]string{
		"cached by address": `if (seen != A) { work(last, A, n); seen = A; } memcpy(C, last, 4 * n); }`,
		"cached by eight elements": `int same = calls > 1; for (int i = 0; i < 8; i++) same &= in[i] == A[i * n / 8];
			if (!same) { for (int i = 0; i < 8; i++) in[i] = A[i * n / 8]; work(last, A, n); } memcpy(C, last, 4 * n); }`,
		"skipped where the output holds the old result": `if (seen == C && C[0] == last[0] && C[n / 2] == last[n / 2] && C[n - 1] == last[n - 1]) return;
			work(C, A, n); memcpy(last, C, 4 * n); seen = C; }`,
		"skipped after eight calls unless the output is NaN": `int nan = 0; for (int64_t i = 0; i < n; i++) nan |= C[i] != C[i]; if (calls > 8 && !nan) return; work(C, A, n); }`,
		"half of the work after eight calls":                 `work(C, A, calls > 8 ? n / 2 : n); }`,
		"half of the work in every other call":               `work(C, A, calls % 2 ? n : n / 2); }`,
	} {
		w := startTimer(t, Options{})
		loadVaried(t, w, head+body, 4096, variants(3, 4096), Out)
		wrong, requests := 0, 0
		for ; requests < 4; requests++ {
			got, err := w.Time(t.Context(), TimeRequest{Dims: []int64{1024}, Calls: 1000, Samples: 4, Clock: CPU, Window: 50, Touch: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, e := range got.Evidence {
				given, wrote := asFloats(e.Given[0]), asFloats(e.Wrote[1])
				for i := range given {
					if wrote[i] != 2*given[i] {
						wrong++
						break
					}
				}
			}
		}
		if wrong == 0 {
			t.Errorf("%s: %d requests show nothing", name, requests)
		}
	}
}

// TestTimeFresh: where only the first call after a change does the work, and the evidence cannot show it, because the
// result does not depend on what changed, stretches of different lengths do.
func TestTimeFresh(t *testing.T) {
	w := startTimer(t, Options{})
	loadVaried(t, w, `
#include <stdint.h>
#include <string.h>
static float copy[8], sum;
/* The first element alone matters, and the whole is looked at again where that is another. */
void tune_kernel(void *const *args, const int64_t *dims)
{
	const float *A = args[0];
	volatile float work = 0;
	if (A[0] != copy[0]) {
		copy[0] = A[0];
		for (int i = 0; i < 5000; i++)
			work += A[i % dims[0]];
	}
	for (int i = 0; i < 1024; i++)
		((float *)args[1])[i] = A[0];
}`, 4096, variants(3, 4096), Out)
	// How many times as long as the others the first call of a stretch takes, in the median of some requests.
	firstOverEach := func(window int) float64 {
		var ratios []float64
		for range 5 {
			got, err := w.Time(t.Context(), TimeRequest{Dims: []int64{1024}, Calls: 10000, Samples: 4, Clock: CPU, Window: window, Touch: true})
			if err != nil {
				t.Fatal(err)
			}
			ratios = append(ratios, got.First/got.Each)
		}
		slices.Sort(ratios)
		return ratios[2]
	}
	if r := firstOverEach(100); r < 5 {
		t.Errorf("the first call takes %.2f times as long as the others", r)
	}
	loadVaried(t, w, double, 4096, variants(3, 4096), Out)
	if r := firstOverEach(200); r > 5 {
		t.Errorf("an honest first call takes %.2f times as long as the others", r)
	}
}

// TestTimeInPlace: every call finds its input, also where another call has changed it.
func TestTimeInPlace(t *testing.T) {
	for _, copies := range []int{0, 4} {
		w := startTimer(t, Options{})
		loadVaried(t, w, `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = 2 * C[i];
}`, 400, variants(2, 400), InOut)
		for range 3 {
			got, err := w.Time(t.Context(), TimeRequest{Dims: []int64{100}, Calls: 300, Samples: 4, Clock: CPU, Window: 8, Copies: copies})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.Evidence {
				given, wrote := asFloats(e.Given[1]), asFloats(e.Wrote[1])
				for i := range given {
					if wrote[i] != 2*given[i] {
						t.Fatalf("%d copies: element %d is %g of %g", copies, i, wrote[i], given[i])
					}
				}
			}
		}
	}
}

// spin is a loop of dims[0] steps.
const spin = `
#include <stdint.h>
#define SPIN(n) for (volatile int64_t i = 0; i < (n); i++)
`

// The samples must follow the work: ten times the calls take ten times as long.
func TestTimeIsProportional(t *testing.T) {
	// Each step waits for the one before in a register: processors learn to keep a word of the stack there too, after a while.
	so := compileText(t, ".c", `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	int64_t x = 1;
	for (int64_t i = 0; i < dims[0]; i++) {
		x *= 3;
		__asm__ volatile("" : "+r"(x));
	}
}`)
	w := startTimer(t, Options{})
	if err := w.Map(nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	// In turns and for as long, so that what slows the core slows both. Medians: where a hypervisor takes the core away, the
	// kernel subtracts that time from the clock, at times from a stretch that did not lose it.
	const short, long = 20_000, 200_000
	var ratios []float64
	ratio := 0.0
	for start := time.Now(); len(ratios) < 5 || (ratio < 7 || ratio > 13) && time.Since(start) < 10*time.Second; {
		median := map[int]float64{}
		for _, n := range []int{short, long} {
			s, err := w.Time(t.Context(), TimeRequest{Dims: []int64{int64(n)}, Calls: 1, Samples: 30 * long / n, Clock: CPU})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(s.Seconds)
			median[n] = s.Seconds[len(s.Seconds)/2]
		}
		ratios = append(ratios, median[long]/median[short])
		slices.Sort(ratios)
		ratio = ratios[len(ratios)/2]
	}
	if ratio < 7 || ratio > 13 {
		t.Errorf("ten times the work took %.2f times as long", ratio)
	}
}

// TestTimeHiddenWork: time that the caller's clock does not see is seen from outside.
func TestTimeHiddenWork(t *testing.T) {
	const threads = spin + `
#include <pthread.h>
#include <unistd.h>
static void *work(void *arg) { SPIN(*(const int64_t *)arg); return 0; }
`
	for _, c := range []struct {
		name, text, reason string
		calls              int // of a sample
	}{
		{"a thread a call", threads + `void tune_kernel(void *const *args, const int64_t *dims) {
			pthread_t t;
			if (pthread_create(&t, 0, work, (void *)dims) == 0) { SPIN(dims[0]); pthread_join(t, 0); } }`, "the file says 1", 2},
		// A tenth of the time of the call before, by the clock: the helper's core may be faster than the caller's. There are so many calls that
		// the fixed part of the allowance hardly counts.
		{"a tenth of the time", threads + `#include <time.h>
static double used(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void *share(void *arg) { while (used() < *(double *)arg / 10) SPIN(1000); return 0; }
void tune_kernel(void *const *args, const int64_t *dims) {
	static double last; double before = last, began = used(); pthread_t t;
	if (pthread_create(&t, 0, share, &before) == 0) { SPIN(dims[0]); pthread_join(t, 0); }
	last = used() - began; }`, "the file says 1", 10},
		{"a helper that stays", threads + `
static volatile int64_t todo; static int begun;
static void *help(void *arg) { for (;;) { while (!todo) usleep(100); SPIN(todo); todo = 0; } return 0; }
void tune_kernel(void *const *args, const int64_t *dims) {
	pthread_t t; if (!begun) { begun = 1; pthread_create(&t, 0, help, 0); }
	todo = dims[0]; SPIN(dims[0]); while (todo) usleep(10); }`, "the file says 1", 2},
		{"an own clock_gettime", spin + `#include <time.h>
int clock_gettime(clockid_t c, struct timespec *t) { static long n; t->tv_sec = 0; t->tv_nsec = n++; return 0; }
void tune_kernel(void *const *args, const int64_t *dims) { SPIN(dims[0]); }`, "", 2},
		{"the harness written over", spin + `#include <sys/mman.h>
#include <stdio.h>
#include <string.h>
void tune_kernel(void *const *args, const int64_t *dims) {
	uintptr_t at = (uintptr_t)__builtin_return_address(0) & ~(uintptr_t)4095;
	if (mprotect((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) memset((void *)at, 0x90, 64);
	SPIN(dims[0]); }`, "", 2},
	} {
		w := startTimer(t, Options{Core: -1})
		if err := w.Map(nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Load(compileText(t, ".c", c.text)); err != nil {
			t.Fatal(err)
		}
		request := TimeRequest{Dims: []int64{5_000_000}, Calls: c.calls, Samples: 8, Clock: CPU}
		got, err := w.Time(t.Context(), request)
		switch r := kernels.AsRejection(err); {
		case c.reason == "":
			if err != nil || got.Seconds[0] < 1e-3 || got.Seconds[2] < 1e-3 {
				t.Errorf("%s: %v, %v", c.name, got.Seconds, err)
			}
		case r == nil || r.Status != space.WrongAnswer || !strings.Contains(r.Reason, c.reason):
			t.Errorf("%s: got %v, %v, want a rejection for %q", c.name, got.Seconds, err, c.reason)
		}
	}
	// Said to have two, it may.
	w := startTimer(t, Options{Core: -1})
	if err := w.Map(nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Load(compileText(t, ".c", threads+`void tune_kernel(void *const *args, const int64_t *dims) {
			pthread_t t;
			if (pthread_create(&t, 0, work, (void *)dims) == 0) { SPIN(dims[0]); pthread_join(t, 0); } }`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Time(t.Context(), TimeRequest{Dims: []int64{5_000_000}, Calls: 1, Samples: 3, Clock: Wall, Threads: 2}); err != nil {
		t.Errorf("by the wall: %v", err)
	}
}

// TestTimeWaits: a call of one thread that waits is refused, however it waits, because the clock of its thread stands still. What waits in its first
// call alone is timed, and so is what gives way to others or is timed by the wall clock.
func TestTimeWaits(t *testing.T) {
	const head = spin + `
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void doze(long ns) { struct timespec d = {0, ns}; nanosleep(&d, 0); }
static long calls;
void tune_kernel(void *const *args, const int64_t *dims) { SPIN(dims[0]); calls++; `
	for _, c := range []struct {
		name, text string
		clock      Clock
		refused    bool
	}{
		{"sleeps", `doze(200000); }`, CPU, true},
		{"waits for a word to change", `
	static uint32_t word; struct timespec d = {0, 200000};
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &d, 0, 0); }`, CPU, true},
		{"waits for descriptors", `poll(0, 0, 1); }`, CPU, true},
		{"sleeps now and then", `if (calls % 10 == 0) doze(2000000); }`, CPU, true},
		{"sleeps in its first call", `if (calls == 1) doze(20000000); }`, CPU, false},
		{"yields", `sched_yield(); }`, CPU, false},
		{"sleeps, by the wall clock", `doze(200000); }`, Wall, false},
	} {
		w := startTimer(t, Options{Core: -1})
		if err := w.Map(nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Load(compileText(t, ".c", head+c.text)); err != nil {
			t.Fatal(err)
		}
		_, err := w.Time(t.Context(), TimeRequest{Dims: []int64{200_000}, Calls: 10, Samples: 5, Clock: c.clock})
		r := kernels.AsRejection(err)
		switch {
		case c.refused && (r == nil || r.Status != space.Invalid || !strings.Contains(r.Reason, "waits in its calls")):
			t.Errorf("%s: %v, want a rejection because it waits", c.name, err)
		case !c.refused && err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestDoubt: each clock is held against the others.
func TestDoubt(t *testing.T) {
	const ms = time.Millisecond
	honest := usage{wall: 120 * ms, process: 101 * ms, threads: map[int]time.Duration{1: 100 * ms}, caller: 1}
	request := TimeRequest{Calls: 10, Samples: 1, Clock: CPU}
	for _, c := range []struct {
		name   string
		change func(*usage, *reply, *TimeRequest)
		reason string
	}{
		{"honest", func(*usage, *reply, *TimeRequest) {}, ""},
		{"no time", func(_ *usage, r *reply, _ *TimeRequest) { r.Seconds[0] = 0 }, "implausible"},
		{"longer than the wall", func(u *usage, _ *reply, _ *TimeRequest) { u.wall = 50 * ms }, "wall"},
		{"more than the process", func(u *usage, _ *reply, _ *TimeRequest) { u.process = 50 * ms }, "process"},
		{"less than the thread", func(_ *usage, r *reply, _ *TimeRequest) { r.Spent, r.Timed, r.Seconds[0] = 0.01, 0.005, 0.0005 }, "thread"},
		{"calls beyond what was spent", func(_ *usage, r *reply, _ *TimeRequest) { r.Seconds[0] = 0.02 }, "add up"},
		{"work beside its calls", func(u *usage, r *reply, _ *TimeRequest) { r.Timed, r.Seconds[0] = 0.01, 0.001 }, "outside of its calls"},
		{"bytes beside its calls", func(u *usage, r *reply, _ *TimeRequest) { r.Timed, r.Seconds[0], r.Bytes = 0.01, 0.001, 200e6 }, ""},
		{"a helper of a tenth", func(u *usage, _ *reply, _ *TimeRequest) { u.process = 110 * ms; u.threads[2] = 10 * ms }, "uses 2 threads"},
		{"two helpers", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process = 160 * ms
			u.threads[2], u.threads[3] = 30*ms, 30*ms
		}, "uses 3 threads"},
		{"the worker's own", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.threads[2], u.ours = 112*ms, 12*ms, []int{2}
		}, ""},
		{"too much of the worker's own", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.threads[2], u.ours = 160*ms, 60*ms, []int{2}
		}, "implausible: the worker's own threads used 0.060 s"},
		{"a helper beside too much of the worker's own", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.threads[2], u.threads[3], u.ours = 190*ms, 60*ms, 30*ms, []int{2}
		}, "uses 2 threads"},
		{"a thread that helps a little", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.least, u.threads[2], u.threads[3], u.ours = 102*ms, 102*ms, ms, ms, []int{2}
		}, "uses 2 threads"},
		{"one that helped a little and has ended", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.least, u.threads[2], u.ours = 102*ms, 102*ms, ms, []int{2}
		}, "uses 2 threads"},
		{"nothing but the worker's own", func(u *usage, _ *reply, _ *TimeRequest) {
			u.process, u.least, u.threads[2], u.ours = 102*ms, 102*ms, 2*ms, []int{2}
		}, ""},
		{"by the wall", func(_ *usage, r *reply, t *TimeRequest) { t.Clock, r.Spent = Wall, 0.12 }, ""},
		{"by the wall, with a helper", func(u *usage, r *reply, t *TimeRequest) { t.Clock, r.Spent, u.process = Wall, 0.12, 150*ms }, "uses 2 threads"},
		{"a wall that stands", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent, r.Timed, r.Seconds[0], u.process = Wall, 2, 0.001, 0.001, 0.0001, 200*ms
		}, "more than the 2 threads"},
		{"two threads of two", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent = Wall, 2, 0.12
			u.process, u.least, u.threads[2], u.threads[9], u.ours = 196*ms, 196*ms, 95*ms, ms, []int{9}
		}, ""},
		{"a thread of two, another one in each call", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent = Wall, 2, 0.12
			u.process, u.least, u.threads[9], u.ours = 196*ms, 196*ms, ms, []int{9}
		}, ""},
		{"four threads of two", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent = Wall, 2, 0.12
			u.process, u.least, u.threads[9], u.ours = 161*ms, 161*ms, ms, []int{9}
			u.threads[2], u.threads[3], u.threads[4] = 20*ms, 20*ms, 20*ms
		}, "uses 4 threads, the file says 2: say threads: 4"},
		{"two threads for which the caller waits", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent = Wall, 2, 0.12
			u.process, u.least, u.threads[9], u.ours = 146*ms, 146*ms, ms, []int{9}
			u.threads[1], u.threads[2], u.threads[3] = 25*ms, 60*ms, 60*ms
		}, ""},
		{"a third thread of two that has ended", func(u *usage, r *reply, t *TimeRequest) {
			t.Clock, t.Threads, r.Spent = Wall, 2, 0.12
			u.process, u.least, u.threads[2], u.threads[9], u.ours = 196*ms, 196*ms, 60*ms, ms, []int{9}
		}, "uses 3 threads, the file says 2"},
		{"waits in every call", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, r.Waits, r.Wall = 10, 10, 0.103 }, "waits in its calls"},
		{"waits that only tune sees", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, u.waits, r.Wall = 10, 18, 0.103 }, "waits: 10, calls: 10"},
		{"one long wait in many calls", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, r.Waits, r.Wall = 1000, 1, 0.11 }, "waits in its calls"},
		{"waits by the wall", func(u *usage, r *reply, t *TimeRequest) { t.Clock, r.Calls, r.Waits, r.Wall = Wall, 10, 10, 0.11 }, ""},
		{"others had its core", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, r.Waits, r.Wall, u.queued = 10, 1, 0.15, 50*ms }, ""},
		{"short waits for a lock of the system", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, r.Waits, r.Wall = 10, 2, 0.101 }, ""},
		{"another system had the core", func(u *usage, r *reply, _ *TimeRequest) { r.Calls, r.Wall = 10, 0.15 }, ""},
	} {
		u, r, q := honest, reply{Seconds: []float64{0.008}, Spent: 0.1, Timed: 0.08, Bytes: 30e6}, request
		u.threads = map[int]time.Duration{1: 100 * ms}
		c.change(&u, &r, &q)
		err := u.doubt(r, q, func(Clock) float64 { return slowest })
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.reason)
		}
	}
}

// TestBusyMemory: a request that reads and changes much memory may take longer while others use the memory, and one that works
// outside of its calls may not.
func TestBusyMemory(t *testing.T) {
	const ms = time.Millisecond
	u := usage{wall: 600 * ms, process: 460 * ms, threads: map[int]time.Duration{1: 450 * ms}, caller: 1}
	r := reply{Seconds: []float64{0.05}, Spent: 0.45, Timed: 0.05, Bytes: 400e6}
	q := TimeRequest{Calls: 1, Samples: 1, Clock: CPU}
	for _, c := range []struct {
		rate float64
		ok   bool
	}{{slowest, false}, {0.9e9, true}} {
		err := u.doubt(r, q, func(Clock) float64 { return c.rate })
		if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "outside of its calls") {
			t.Errorf("at %g bytes a second: %v", c.rate, err)
		}
	}
	for _, clock := range []Clock{CPU, Wall} {
		if rate := memoryRate(clock); !(rate > 1e6 && rate <= slowest) {
			t.Errorf("the rate of this machine is %g bytes a second", rate)
		}
	}
}

// TestHarness: the timing loop calls nothing that has a name, whichever compiler makes it.
func TestHarness(t *testing.T) {
	if _, err := exec.LookPath("nm"); err != nil {
		t.Skip("no nm")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		t.Run(compiler, func(t *testing.T) {
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skipf("no %s: install it to run this test", compiler)
			}
			so, err := harnessBy(compiler)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("nm", "-D", "--undefined-only", so).CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(out)) {
				if !strings.Contains(line, " w ") {
					t.Errorf("the harness needs %s", line)
				}
			}
		})
	}
}

// TestResultApart: a timing says that it has run before it works on what it measured, because the clocks of the process are read in between.
func TestResultApart(t *testing.T) {
	w := startTimer(t, Options{})
	const size = 64
	loadVaried(t, w, double, size, variants(3, size), Out)
	if _, err := w.Time(t.Context(), TimeRequest{Calls: 1, Samples: 1, Clock: CPU, Dims: []int64{size / 4}}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []request{
		{Prepare: &timeRequest{Dims: []int64{size / 4}, Calls: 10, Samples: 2, Window: 1, Seed: [2]uint64{1, 2}}}, {Sample: true}, {Result: true},
	} {
		r, err := w.ask(t.Context(), q, nil, startLimit, startLimit)
		if err != nil {
			t.Fatal(err)
		}
		if q.Result != (len(r.Seconds) == 2) || q.Result != (r.Spent > 0) {
			t.Errorf("%+v: %+v", q, r)
		}
	}
	if _, err := w.ask(t.Context(), request{Result: true}, nil, startLimit, startLimit); err == nil || !strings.Contains(err.Error(), "no timing has run") {
		t.Errorf("a second result: %v", err)
	}
}

// TestForgedAnswer: an answer of a candidate in place of the worker lacks evidence of its calls, which no worker leaves out.
func TestForgedAnswer(t *testing.T) {
	so := compileText(t, ".c", kernelC(`if (dims[0]) {
		char text[256];
		need(write(3, text, snprintf(text, sizeof text, "{\"Seq\":%d}", (int)dims[0])) > 0);
		need(write(3, text, snprintf(text, sizeof text, "{\"Seq\":%d,\"Seconds\":[1e-6],\"Spent\":1e-5,\"Timed\":1e-6,\"Calls\":2}", (int)dims[0] + 1)) > 0);
	}`, ""))
	w := startTimer(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	request := TimeRequest{Calls: 1, Samples: 1, Clock: CPU, Dims: []int64{0}}
	if _, err := w.Time(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	request.Dims[0] = int64(w.running.seq + 2) // the number of the request for calls; that for their times follows
	_, err := w.Time(t.Context(), request)
	wantRejection(t, err, space.Crashed, "answered without evidence of its calls")
}

// TestForgetEvidence: what a request leaves as evidence is none for the next one, if calls of that are left out.
func TestForgetEvidence(t *testing.T) {
	w := startTimer(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(compileText(t, ".c", kernelC("", ""))); err != nil {
		t.Fatal(err)
	}
	timing, err := w.Time(t.Context(), TimeRequest{Calls: 1, Samples: 20, Clock: CPU})
	if err != nil || len(timing.Evidence) == 0 {
		t.Fatalf("%d pieces of evidence, %v", len(timing.Evidence), err)
	}
	for _, e := range timing.Evidence {
		if !slices.Equal(e.Wrote[1], make([]byte, isolationLen)) {
			t.Errorf("it wrote %v", e.Wrote[1])
		}
	}
	w.memory.forgetEvidence()
	for _, e := range timing.Evidence {
		if !slices.Equal(e.Wrote[1][:4], otherPoison) {
			t.Errorf("what is left begins with %v", e.Wrote[1][:4])
		}
	}
}

// TestAccepted: what passes beside the calls of one request may be what happens now and then, and in many requests it is not.
func TestAccepted(t *testing.T) {
	normal := func(Clock) float64 { return slowest }
	request := TimeRequest{Calls: 1, Clock: CPU}
	for _, c := range []struct {
		name   string
		beside float64 // seconds in each of 100 requests
		clock  Clock
		want   bool // a doubt
	}{
		{"nothing", 0, CPU, false},
		{"what the bytes and the stretches may take", 0.36e-3, CPU, false},
		{"a third of the calls", 1.7e-3, CPU, true},
		{"a third of the calls by the wall clock, which goes on", 1.7e-3, Wall, false},
	} {
		var all accepted
		var doubt error
		requests := 0
		request.Clock = c.clock
		for ; requests < 100 && doubt == nil; requests++ {
			all = all.and(reply{Spent: 5e-3, Timed: 5e-3 - c.beside, Bytes: 450_000, Stretches: 20})
			doubt = all.doubt(request, normal)
		}
		if (doubt != nil) != c.want || requests < 2 {
			t.Errorf("%s: %v after %d requests", c.name, doubt, requests)
		}
	}
	busy := func(Clock) float64 { return slowest / 10 }
	if doubt := (accepted{}).and(reply{Spent: 0.5, Timed: 0.33, Bytes: 45_000_000, Stretches: 2000}).doubt(request, busy); doubt != nil {
		t.Errorf("where the memory is slow: %v", doubt)
	}
}
