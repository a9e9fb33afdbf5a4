//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
)

// TestBlindEvidence: tune knows what each blind call was given without asking the worker for it.
func TestBlindEvidence(t *testing.T) {
	const size, calls = 1 << 12, 32
	for _, mode := range []Mode{Out, InOut} {
		for _, n := range []int{1, 2, 3, 40} {
			w := startTimer(t, Options{})
			pool := variants(n, size)
			loadVaried(t, w, double, size, pool, mode)
			r := BlindRequest{Dims: []int64{size / 4}, Calls: calls, Look: calls, Clock: CPU, Whole: true, Limit: time.Second}
			whole, mixed, seen := 0, 0, map[string]int{}
			for _, r.Away = range []bool{false, true} {
				got, err := w.Blind(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Evidence) != calls {
					t.Fatalf("%d calls were looked at, want %d", len(got.Evidence), calls)
				}
				used := map[int]bool{}
				for _, e := range got.Evidence {
					for i, a := range asFloats(e.Given[0]) {
						if c := asFloats(e.Wrote[1])[i]; c != 2*a {
							t.Fatalf("a call on %v wrote %v", a, c)
						}
					}
					if (e.Given[1] != nil) != (mode == InOut) {
						t.Error("what the call was given is not by the modes of the buffers")
					}
					if e.Variant >= 0 {
						whole++
						if !bytes.Equal(e.Given[0], pool[e.Variant][0]) {
							t.Errorf("the content is not variant %d", e.Variant)
						}
						if n > 1 && used[e.Variant] {
							t.Errorf("variant %d came twice", e.Variant)
						}
						used[e.Variant] = true
						continue
					}
					mixed++
					seen[string(e.Given[0])]++
				}
			}
			if n == 1 && mixed > 0 || n > 1 && mixed == 0 {
				t.Errorf("of %d contents: %d calls on one, %d on parts of several", n, whole, mixed)
			}
			if n == 40 && len(seen) != mixed {
				t.Errorf("of %d calls on parts of %d contents, %d differ", mixed, n, len(seen))
			}
		}
	}
}

// TestBlindUnknown: where the time counts, no call works on a content that the candidate has met in timed calls, except where all are the same.
func TestBlindUnknown(t *testing.T) {
	for _, calls := range []int{1, 7, 8, 64} {
		for n := range 200 {
			q := blindRequest{Seed: [2]uint64{uint64(n), 1}}
			if list := blindVariants(q.Seed, calls, 40, q.known(3)); slices.Max(list) >= 0 {
				t.Fatalf("%d calls, of which one works on a variant: %v", calls, list)
			}
			if list := blindVariants(q.Seed, calls, 1, q.known(1)); slices.Min(list) != 0 {
				t.Fatalf("%d calls on one content: %v", calls, list)
			}
		}
	}
}

// forgets works in its first call alone, and writes in each what it wrote there.
const forgets = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	static float kept[1 << 10];
	static int known;
	const float *A = args[0];
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = known ? kept[i] : 2 * A[i];
	for (int64_t i = 0; i < dims[0] && !known; i++)
		kept[i] = C[i];
	known = 1;
}`

// TestBlindInputsDiffer: no call has the inputs of another one.
func TestBlindInputsDiffer(t *testing.T) {
	const size = 1 << 12
	w := startTimer(t, Options{})
	loadVaried(t, w, forgets, size, variants(8, size), Out)
	got, err := w.Blind(t.Context(), BlindRequest{Dims: []int64{size / 4}, Calls: 64, Look: 8, Clock: CPU, Limit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, e := range got.Evidence {
		if asFloats(e.Wrote[1])[5] != 2*asFloats(e.Given[0])[5] {
			wrong++
		}
	}
	if wrong < len(got.Evidence)/2 {
		t.Errorf("of %d calls that wrote the result of the first one, %d are wrong", len(got.Evidence), wrong)
	}
}

// spinsFor takes dims[0] microseconds of CPU time, in a thread of its own if dims[1] says so.
const spinsFor = `
#include <pthread.h>
#include <stdint.h>
#include <time.h>
static void *spin(void *us)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < *(const int64_t *)us);
	return 0;
}
void tune_kernel(void *const *args, const int64_t *dims)
{
	pthread_t t;
	(void)args;
	if (!dims[1])
		spin((void *)dims);
	else if (pthread_create(&t, 0, spin, (void *)dims) == 0)
		pthread_join(t, 0);
}`

// TestBlindTime: the time is that of all threads of the candidate, and calls of nothing take next to none.
func TestBlindTime(t *testing.T) {
	const calls, us = 20, 500
	w := startTimer(t, Options{})
	loadVaried(t, w, spinsFor, 64, variants(2, 64), Out)
	for _, c := range []struct {
		thread int64
		idle   bool
		clock  Clock
		least  float64
		most   float64
	}{
		{0, false, CPU, calls * us * 1e-6, 1.5 * calls * us * 1e-6},
		{1, false, CPU, calls * us * 1e-6, 1.5 * calls * us * 1e-6},
		{0, true, CPU, 0, 1e-3},
		{1, false, Wall, 0.45 * calls * us * 1e-6, 1}, // the CPU time of one of two threads
	} {
		took := 1.0
		for range 5 {
			r := BlindRequest{Dims: []int64{us, c.thread}, Calls: calls, Clock: c.clock, Threads: 2, Idle: c.idle, Limit: time.Second}
			got, err := w.Blind(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			took = min(took, got.Seconds)
		}
		if took < c.least || took > c.most {
			t.Errorf("%+v: %v s", c, took)
		}
	}
}

// TestBlindThenTime: blind calls leave a worker that can time, and what they wrote counts for nothing there.
func TestBlindThenTime(t *testing.T) {
	const size = 1 << 12
	w := startTimer(t, Options{})
	loadVaried(t, w, double, size, variants(8, size), Out)
	dims := []int64{size / 4}
	for range 3 {
		if _, err := w.Blind(t.Context(), BlindRequest{Dims: dims, Calls: 9, Look: 2, Clock: CPU, Limit: time.Second}); err != nil {
			t.Fatal(err)
		}
		got, err := w.Time(t.Context(), TimeRequest{Dims: dims, Calls: 50, Samples: 4, Window: 5, Clock: CPU})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Seconds) != 4 || slices.Min(got.Seconds) <= 0 {
			t.Errorf("after blind calls: %v", got.Seconds)
		}
	}
}

// TestBlindFails: requests that cannot be made, and a candidate that fails.
func TestBlindFails(t *testing.T) {
	w := startTimer(t, Options{})
	r := BlindRequest{Calls: 1, Clock: CPU, Limit: time.Second}
	if _, err := w.Blind(t.Context(), r); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("before anything is loaded: %v", err)
	}
	loadVaried(t, w, `#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims) { (void)args; (void)dims; __builtin_trap(); }`, 64, variants(2, 64), Out)
	if _, err := w.Blind(t.Context(), BlindRequest{Clock: CPU, Limit: time.Second}); err == nil {
		t.Error("no calls: accepted")
	}
	if _, err := w.Blind(t.Context(), r); kernels.AsRejection(err) == nil {
		t.Errorf("a candidate that crashes: %v", err)
	}
}

// whereA writes a part of the address of its input.
const whereA = `
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = (float)((uintptr_t)args[0] >> 6 & 0xffffff);
}`

// TestBlindFixed: an input that never varies stays at one address, because a candidate may keep what it made of it. Others do not.
func TestBlindFixed(t *testing.T) {
	const size = 256
	for _, fixed := range []bool{false, true} {
		pool := variants(4, size)
		for i := range pool {
			if fixed {
				pool[i] = pool[0]
			}
		}
		w := startTimer(t, Options{})
		loadVaried(t, w, whereA, size, pool, Out)
		got, err := w.Blind(t.Context(), BlindRequest{Dims: []int64{size / 4}, Calls: 16, Look: 16, Clock: CPU, Limit: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[float32]bool{}
		for _, e := range got.Evidence {
			addresses[asFloats(e.Wrote[1])[0]] = true
			if fixed && !bytes.Equal(e.Given[0], pool[0][0]) {
				t.Error("a call was not given the only content")
			}
		}
		if fixed != (len(addresses) == 1) {
			t.Errorf("fixed %v: the input is at %d places", fixed, len(addresses))
		}
	}
}
