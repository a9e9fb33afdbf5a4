//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"slices"
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

// spins has a thread that works from the first call on, whether it is called or not.
const spins = `
#include <pthread.h>
#include <stdint.h>
static void *work(void *arg)
{
	for (volatile long i = 0;; i++)
		;
}
void tune_kernel(void *const *args, const int64_t *dims)
{
	static pthread_t thread;
	const float *A = args[0];
	float *C = args[1];
	if (!thread)
		pthread_create(&thread, 0, work, 0);
	for (int64_t i = 0; i < dims[0]; i++)
		C[i] = 2 * A[i];
}`

// TestHalt: a process that is halted between requests does nothing there, whatever threads the candidate has left, and goes on with the
// next request.
func TestHalt(t *testing.T) {
	const size = 1 << 16
	w := startTimer(t, Options{Core: -1, Halt: true})
	loadVaried(t, w, spins, size, variants(2, size), Out)
	r := TimeRequest{Calls: 1, Samples: 1, Clock: Wall, Threads: 2, Dims: []int64{size / 4}}
	for _, request := range []func() error{
		func() error { return w.Call(t.Context(), r.Dims) },
		func() error { _, err := w.Time(t.Context(), r); return err },
		func() error { _, err := w.Time(t.Context(), r); return err },
	} {
		if err := request(); err != nil {
			t.Fatal(err)
		}
		n := w.running
		if !allStopped(n.pid) {
			t.Fatal("it works on after a request")
		}
		before := n.cpuTime()
		for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
		}
		if used := n.cpuTime() - before; used > 0 {
			t.Errorf("it used %v of CPU time between requests", used)
		}
	}
	loadVaried(t, w, double, size, variants(2, size), Out)
	r.Threads, r.Clock = 1, CPU
	if _, err := w.Time(t.Context(), r); err != nil {
		t.Errorf("the next candidate: %v", err)
	}
}

// allStopped reports whether all threads of a process are stopped within a second.
func allStopped(pid int) bool {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	for start := time.Now(); time.Since(start) < time.Second; {
		works := func(id string) bool {
			thread, ok := readStat(folder + "/" + id + "/stat")
			return ok && thread.state != 'T'
		}
		if !slices.ContainsFunc(names(folder), works) {
			return true
		}
	}
	return false
}

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
