//go:build linux && (amd64 || arm64)

package worker

import (
	"testing"
	"time"

	"tune/space"
)

// TestRest: little CPU time between requests is no work, however often; much of it is, and time at rest is no credit for it.
func TestRest(t *testing.T) {
	const ms = time.Millisecond
	now, cpu := time.Now(), time.Duration(0)
	var r rest
	gap := func(long, used time.Duration) {
		r.begin(cpu, now)
		now, cpu = now.Add(long), cpu+used
		r.end(cpu, now)
	}
	for range 1000 {
		gap(10*ms, 400*time.Microsecond)
		gap(ms/10, ms/4)
		gap(time.Second, 5*ms)
	}
	if r.work > 0 {
		t.Errorf("a worker at rest has worked for %v", r.work)
	}
	gap(time.Minute, 0)
	r.end(cpu+time.Second, now.Add(time.Minute)) // nothing was answered in between
	for range 10 {
		gap(5*ms, 4*ms)
	}
	if r.work < restLimit || r.work > 40*ms {
		t.Errorf("one that works has worked for %v", r.work)
	}
}

// after begins to work some time after its first call, and ends before the next.
const after = `
#include <pthread.h>
#include <stdint.h>
#include <time.h>
static void *work(void *arg)
{
	struct timespec t = {0, 50000000};
	nanosleep(&t, 0);
	for (long until = clock() + CLOCKS_PER_SEC / 10; clock() < until;)
		;
	return arg;
}
void tune_kernel(void *const *args, const int64_t *dims)
{
	static pthread_t thread;
	const float *A = args[0];
	float *C = args[1];
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = 2 * A[i];
	if (!thread)
		pthread_create(&thread, 0, work, 0);
}`

// TestWorksAtRest: a candidate with a thread that works between requests, and at no other time, is refused when it is timed.
func TestWorksAtRest(t *testing.T) {
	const size = 1 << 18
	w := startTimer(t, Options{})
	loadVaried(t, w, after, size, variants(2, size), Out)
	r := TimeRequest{Calls: 1, Samples: 1, Clock: CPU, Dims: []int64{size / 4}}
	if err := w.Call(t.Context(), r.Dims); err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond)
	_, err := w.Time(t.Context(), r)
	wantRejection(t, err, space.Invalid, "works between its calls")
	loadVaried(t, w, double, size, variants(2, size), Out)
	time.Sleep(400 * time.Millisecond)
	if _, err := w.Time(t.Context(), r); err != nil {
		t.Errorf("the next candidate: %v", err)
	}
}
