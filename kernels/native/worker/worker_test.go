//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// holdEnv makes the test binary play tune: it starts a worker, calls an endless loop, and waits to be killed.
const holdEnv = "WORKER_TEST_HOLD"

func TestMain(m *testing.M) {
	if so := os.Getenv(holdEnv); so != "" {
		hold(so)
	}
	folder() // before tests set TMPDIR; an error is told to those that need it
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if dir, err := folder(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(status)
	}))
}

func hold(so string) {
	w, err := Start(context.Background(), Options{Core: -1, Limits: Limits{Wall: time.Minute, CPU: time.Minute}})
	if err == nil {
		buffers, inputs := hostileBuffers()
		err = errors.Join(w.Map(buffers, inputs), w.Load(so))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(w.running.pid)
	_ = w.Call(context.Background(), []int64{6, hostileLen})
	os.Exit(0)
}

// compile compiles a file of testdata, and returns the shared object.
func compile(t testing.TB, name string, flags ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return compileText(t, filepath.Ext(name), string(text), flags...)
}

func compileText(t testing.TB, ext, text string, flags ...string) string {
	t.Helper()
	cc := "gcc"
	if ext == ".cpp" {
		cc = "g++"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no %s: install it to run this test", cc)
	}
	folder, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	compiled.Lock()
	defer compiled.Unlock()
	key := fmt.Sprintf("%s %q %s", ext, flags, text)
	if so := compiled.objects[key]; so != "" {
		return so
	}
	name := filepath.Join(folder, fmt.Sprint("k", len(compiled.objects)))
	source, so := name+ext, name+".so"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O1", "-w", "-shared", "-fPIC", "-pthread", "-o", so, source}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	compiled.objects[key] = so
	return so
}

// compiled are the objects that compileText has made.
var compiled = struct {
	sync.Mutex
	objects map[string]string // by extension, flags and text
}{objects: map[string]string{}}

// folder makes the folder of all objects, which ends with the tests.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "tune-harness") })

// harness compiles the timing loop once for all tests.
var harness = sync.OnceValues(func() (string, error) { return harnessBy("gcc") })

// harnessBy compiles it with a compiler.
func harnessBy(compiler string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	source, so := filepath.Join(dir, compiler+"-harness.c"), filepath.Join(dir, compiler+"-harness.so")
	if err := os.WriteFile(source, []byte(HarnessC), 0o600); err != nil {
		return "", err
	}
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", so, source}, HarnessFlags()...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return so, nil
}

// startTimer starts a worker that can time.
func startTimer(t testing.TB, o Options) *Worker {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc: install it to run this test")
	}
	var err error
	if o.Harness, err = harness(); err != nil {
		t.Fatal(err)
	}
	return start(t, o)
}

func start(t testing.TB, o Options) *Worker {
	t.Helper()
	w, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func floats(v ...float32) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v))
}

func asFloats(b []byte) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4) }

// mapGood maps the buffers of good.c.
func mapGood(t testing.TB, w *Worker) {
	t.Helper()
	buffers := []Buffer{{Name: "A", Bytes: 12, Mode: In}, {Name: "C", Bytes: 12, Mode: Out}, {Name: "state", Bytes: 12, Mode: InOut}}
	if err := w.Map(buffers, [][]byte{floats(1, 2, 3), nil, floats(10, 20, 30)}); err != nil {
		t.Fatal(err)
	}
}

func wantGood(t testing.TB, w *Worker) {
	t.Helper()
	out := w.Outputs()
	for i, want := range [][]float32{{1, 2, 3}, {12, 24, 36}, {1, 2, 3}} {
		for j, v := range asFloats(out[i]) {
			if v != want[j] {
				t.Fatalf("buffer %d: got %v, want %v", i, asFloats(out[i]), want)
			}
		}
	}
}

// callGood loads and calls the good candidate.
func callGood(t testing.TB, w *Worker, so string) {
	t.Helper()
	mapGood(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	for range 2 { // InOut buffers hold their inputs again.
		if err := w.Call(t.Context(), []int64{3}); err != nil {
			t.Fatal(err)
		}
		wantGood(t, w)
	}
}

func TestCallsManyCandidatesInOneProcess(t *testing.T) {
	one, two := compile(t, "good.c"), compile(t, "good.c", "-O3")
	w := start(t, Options{})
	pid := w.running.pid
	for range 3 {
		callGood(t, w, one)
		callGood(t, w, two)
	}
	if w.running.pid != pid {
		t.Error("the worker was replaced, although no candidate harmed it")
	}
}

func TestOutputsHoldNaNsBeforeACall(t *testing.T) {
	w := start(t, Options{})
	mapGood(t, w)
	if err := w.Load(compile(t, "good.c")); err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), []int64{2}); err != nil {
		t.Fatal(err)
	}
	if got := asFloats(w.Outputs()[1]); got[1] != 24 || !math.IsNaN(float64(got[2])) {
		t.Errorf("got %v, want the last element untouched and NaN", got)
	}
}

func TestThreadsThatAreJoinedDoNotCostTheWorker(t *testing.T) {
	so := compile(t, "threads.c")
	w := start(t, Options{Core: -1})
	pid := w.running.pid
	for range 3 {
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), []int64{1000}); err != nil {
			t.Fatal(err)
		}
	}
	if w.running.pid != pid {
		t.Error("the worker was replaced, although all threads were joined")
	}
}

// What a candidate leaks must not be missing to the next one.
func TestLeakedMemoryCostsTheWorker(t *testing.T) {
	so := compileText(t, ".c", `
#include <stdint.h>
#include <stdlib.h>
void tune_kernel(void *const *args, const int64_t *dims) {
	volatile char *p = malloc(dims[0]);
	if (!p) abort();
	p[0] = 1;
}`)
	w := start(t, Options{Limits: Limits{Memory: 1 << 30}})
	for range 3 {
		pid := w.running.pid
		for range 2 {
			if err := w.Load(so); err != nil {
				t.Fatal(err)
			}
			if err := w.Call(t.Context(), []int64{700 << 20}); err != nil {
				t.Fatal(err)
			}
		}
		if w.running.pid == pid {
			t.Error("the worker was not replaced")
		}
	}
}

const hostileLen = 1000

func hostileBuffers() ([]Buffer, [][]byte) {
	in := make([]byte, 4*hostileLen)
	return []Buffer{{Name: "A", Bytes: len(in), Mode: In}, {Name: "B", Bytes: len(in), Mode: In}, {Name: "C", Bytes: len(in), Mode: Out}, {Name: "D", Bytes: len(in), Mode: InOut}}, [][]byte{in, in, nil, in}
}

// hostileCases are the branches of hostile.c.
var hostileCases = []struct {
	name   string
	branch int64
	status space.Status
	reason string // a part of it; alternatives are separated by |
}{
	{"null pointer", 1, space.Crashed, "segmentation fault at address 0x8: a null pointer"},
	{"wild pointer", 2, space.Crashed, "wrote address 0x123456789000, which is in no buffer|read or wrote address"},
	{"non-canonical pointer", 3, space.Crashed, "segmentation fault at a wild address"},
	{"abort", 4, space.Crashed, "aborted"},
	{"illegal instruction", 5, space.Crashed, "illegal instruction"},
	{"endless loop", 6, space.Timeout, "ran past its limit of "},
	{"endless sleep", 7, space.Timeout, "ran past its limit of "},
	{"huge malloc", 8, space.Crashed, "the limit on memory is 64 MiB"},
	{"malloc without end", 9, space.Crashed, "the limit on memory is 64 MiB"},
	{"huge mmap", 10, space.Crashed, "as a refused mmap returns (the limit on memory is 64 MiB)"},
	{"fork bomb", 11, space.Crashed, "tried to start a process (clone)"},
	{"posix_spawn", 12, space.Crashed, "tried to start a process ("},
	{"exec", 13, space.Crashed, "tried to run a program (execve)"},
	{"system", 14, space.Crashed, "tried to start a process ("},
	{"daemon", 15, space.Crashed, "tried to leave its session"},
	{"flood of stdout", 16, space.Crashed, "wrote more than 64 KiB of output"},
	{"flood of stderr", 17, space.Crashed, "wrote more than 64 KiB of output"},
	{"exit", 18, space.Crashed, "exited with status 0 in the middle of a call"},
	{"_exit", 19, space.Crashed, "exited with status 3 in the middle of a call"},
	{"a byte past its output", 20, space.Crashed, "wrote past the end of buffer C (byte 4000 of its 4000)"},
	{"a page past its output", 21, space.Crashed, "wrote past the end of buffer C (byte 8096 of its 4000, in its guard page)|reached past"},
	{"a byte before its output", 22, space.Crashed, "wrote before the start of buffer C (byte -1)"},
	{"pages before its output", 23, space.Crashed, "wrote before the start of buffer C (byte -70000, in its guard page)|reached before"},
	{"into its input", 24, space.Crashed, "wrote into its input A (byte 5)"},
	{"reads far past its input", 25, space.Crashed, "read past the end of buffer A (byte 504000|reached past"},
	{"stack overflow", 26, space.Crashed, "stack overflow"},
	{"division by zero", 27, space.Crashed, "division by zero (SIGFPE)"},
	{"longjmp", 28, space.Crashed, "segmentation fault|aborted"},
	{"closes all files and waits", 29, space.Crashed, "closed the connection to tune"},
	{"closes all files and returns", 30, space.Crashed, "closed the connection to tune"},
	{"kills its parent", 31, space.Crashed, "tried to send a signal to another process"},
	{"stops itself", 32, space.Crashed, "stopped its own process (SIGSTOP)"},
	{"threads left over", 33, space.OK, ""},
	{"pthread_exit", 34, space.Crashed, "ended the thread that called it (pthread_exit)|aborted"},
	{"fault in a thread", 35, space.Crashed, "wrote past the end of buffer C (byte 8096 of its 4000, in its guard page)|reached past"},
	{"stack overflow in a thread", 36, space.Crashed, "overflowed its stack|stack overflow"},
	{"jump to nowhere", 37, space.Crashed, "jumped to address 0x7000000000"},
	{"double free", 38, space.Crashed, "aborted: free(): double free"},
	{"garbage on all files", 39, space.Crashed, "wrote to the connection with tune"},
	{"ignores its signals", 40, space.Crashed, "segmentation fault at address 0x8"},
	{"large file", 41, space.Crashed, "aborted|SIGXFSZ"},
	{"threads without end", 42, space.Crashed, "aborted"},
	{"file left open", 43, space.OK, ""},
	{"truncates tune's memory", 44, space.Crashed, "aborted|segmentation fault|in no buffer"},
	{"SIGTERM", 45, space.Crashed, "ended by signal SIGTERM in the middle of a call"},
	{"SIGKILL", 46, space.Crashed, "was killed (SIGKILL) in the middle of a call, by itself or from outside; memory had not run out|by itself or by the system"},
	{"changes the limits of its parent", 47, space.Crashed, "to reach into another process"},
	{"pins its parent", 48, space.Crashed, "tried to change how another process is scheduled"},
	{"pins tune", 49, space.Crashed, "tried to change how another process is scheduled"},
	{"slows its parent down", 50, space.Crashed, "tried to change how another process is scheduled"},
	{"slows all of its user down", 51, space.Crashed, "tried to change how another process is scheduled"},
	{"tkill", 52, space.Crashed, "tried to send a signal to another process"},
	{"writes to its parent's memory", 53, space.Crashed, "tried to reach into another process"},
	{"traces its parent", 54, space.Crashed, "tried to reach into another process"},
	{"mount", 55, space.Crashed, "tried to change the system that it runs on"},
	{"sethostname", 56, space.Crashed, "tried to change the system that it runs on"},
	{"swapon", 57, space.Crashed, "tried to change the system that it runs on"},
	{"settimeofday", 58, space.Crashed, "tried to change the system that it runs on"},
	{"unshare", 59, space.Crashed, "tried to leave its session or group"},
	{"setns", 60, space.Crashed, "tried to leave its session or group"},
	{"real time", 61, space.Crashed, "aborted"},
	{"what a runtime needs", 62, space.OK, ""},
	{"munmap of its output", 63, space.Crashed, "aborted|wrote past the end of buffer C|in no buffer"},
	{"kills all", 64, space.Crashed, "tried to send a signal to another process"},
	{"bpf", 65, space.Crashed, "tried to change the system that it runs on"},
}

// TestCallWithin: the separate limit of a call is one of CPU time, because on a busy machine a call may take many times as long.
func TestCallWithin(t *testing.T) {
	so := compileText(t, ".c", kernelC(`struct timespec now, end; clock_gettime(CLOCK_MONOTONIC, &end);
	if (dims[0] == 0) { usleep(600000); C[0] = 1; return; }
	for (;;) clock_gettime(CLOCK_MONOTONIC, &now);`, "#include <time.h>\n#include <unistd.h>"))
	w := start(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if err := w.CallWithin(t.Context(), []int64{0}, 200*time.Millisecond); err != nil || w.Outputs()[1][0] != 1 {
		t.Errorf("a call that does little for 0.6 s: %v", err)
	}
	wantRejection(t, w.CallWithin(t.Context(), []int64{1}, 200*time.Millisecond), space.Timeout, "ran past its limit of 200ms of CPU time")
}

// A candidate is not blamed when something else stops its process and continues it.
func TestStoppedFromOutside(t *testing.T) {
	so := compileText(t, ".c", kernelC(`struct timespec now, end; clock_gettime(CLOCK_MONOTONIC, &end); end.tv_sec++;
	do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec < end.tv_sec || now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec);
	C[0] = 1;`, "#include <time.h>"))
	w := start(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	pid := w.running.pid
	go func() {
		time.Sleep(200 * time.Millisecond)
		_ = unix.Kill(pid, unix.SIGSTOP)
		time.Sleep(600 * time.Millisecond)
		_ = unix.Kill(pid, unix.SIGCONT)
	}()
	if err := w.Call(t.Context(), []int64{0}); err != nil || w.Outputs()[1][0] != 1 {
		t.Errorf("%v, wrote %v", err, w.Outputs()[1][0])
	}
}

// A kernel must not reach tune's memory by its file either.
func TestMemoryOfTuneIsOutOfReach(t *testing.T) {
	so := compileText(t, ".c", `
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
void tune_kernel(void *const *args, const int64_t *dims) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/mem", (int)dims[0]);
	int32_t *opened = args[0];
	*opened = open(path, O_RDWR) >= 0;
}`)
	open := func(w *Worker, pid int) bool {
		if err := w.Map([]Buffer{{Name: "opened", Bytes: 4, Mode: Out}}, [][]byte{nil}); err != nil {
			t.Fatal(err)
		}
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), []int64{int64(pid)}); err != nil {
			t.Fatal(err)
		}
		return w.Outputs()[0][0] != 0
	}
	w := start(t, Options{Core: -1})
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if os.Getuid() != 0 && errno != 0 {
		t.Skip("this user's processes are open to each other, and this system has no Landlock")
	}
	if open(w, os.Getpid()) || open(w, w.running.cmd.Process.Pid) {
		t.Error("the kernel could open the memory of another process")
	}
}

func TestHostileCandidates(t *testing.T) {
	hostile, good := compile(t, "hostile.c"), compile(t, "good.c")
	w := start(t, Options{Core: -1, Limits: Limits{Wall: 2500 * time.Millisecond, CPU: time.Second, Memory: 64 << 20}})
	for _, c := range hostileCases {
		t.Run(c.name, func(t *testing.T) {
			if raceDetector && (strings.Contains(c.reason, "limit on memory") || c.name == "threads without end") {
				t.Skip("memory is not limited under the race detector")
			}
			buffers, inputs := hostileBuffers()
			if err := w.Map(buffers, inputs); err != nil {
				t.Fatal(err)
			}
			if err := w.Load(hostile); err != nil {
				t.Fatal(err)
			}
			before := w.running
			err := w.Call(t.Context(), []int64{c.branch, hostileLen})
			if c.status == space.OK {
				if err != nil {
					t.Fatal(err)
				}
			} else {
				r := kernels.AsRejection(err)
				if r == nil {
					t.Fatalf("got %v, want a rejection", err)
				}
				t.Log(r)
				if r.Status != c.status || !containsOne(r.Reason, c.reason) {
					t.Errorf("got %v, want %v: %s", r, c.status, c.reason)
				}
			}
			callGood(t, w, good)
			harmless := c.branch == 20 || c.branch == 22 || c.branch == 62
			if !harmless {
				if w.running == before {
					t.Error("the worker was not replaced")
				}
				wantGone(t, before.pid, before.cmd.Process.Pid)
			}
		})
	}
	_ = w.Close()
	if left := descendants(os.Getpid(), processes(), nil); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func containsOne(text, alternatives string) bool {
	for a := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(text, a) {
			return true
		}
	}
	return false
}

func wantGone(t *testing.T, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for _, pid := range pids {
		for {
			if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
				break
			}
			if s, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid)); ok && s.state == 'Z' {
				break // Dead, and waiting for a reaper that is not ours.
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d is left", pid)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func TestExceptions(t *testing.T) {
	so := compile(t, "throw.cpp")
	w := start(t, Options{})
	for branch, want := range []string{"aborted: terminate called after throwing an instance of 'int'", "what(): no such tile"} {
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		err := w.Call(t.Context(), []int64{int64(branch)})
		if r := kernels.AsRejection(err); r == nil || r.Status != space.Crashed || !strings.Contains(r.Reason, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLoadFailures(t *testing.T) {
	good := compile(t, "good.c")
	w := start(t, Options{Limits: Limits{Wall: 300 * time.Millisecond}})
	for _, c := range []struct {
		name, text string
		status     space.Status
		reason     string
	}{
		{"undefined symbol", "extern void nowhere(void); void tune_kernel(void) { nowhere(); }", space.CompileFailed, "undefined symbol: nowhere"},
		{"no kernel", "int x;", space.CompileFailed, "cannot be loaded: it defines no function tune_kernel"},
		{"constructor that loops", "__attribute__((constructor)) static void c(void) { for (;;) __asm__(\"\"); } void tune_kernel(void) {}", space.Timeout, "ran past its limit"},
		{"constructor that faults", "__attribute__((constructor)) static void c(void) { *(volatile int *)8 = 1; } void tune_kernel(void) {}", space.Crashed, "null pointer"},
		{"destructor that loops", "__attribute__((destructor)) static void c(void) { for (;;) __asm__(\"\"); } void tune_kernel(void) {}", space.OK, ""},
		{"destructor that exits", "#include <stdlib.h>\n__attribute__((destructor)) static void c(void) { _Exit(0); } void tune_kernel(void) {}", space.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := w.Load(compileText(t, ".c", c.text))
			if c.status == space.OK {
				if err != nil {
					t.Fatal(err)
				}
			} else if r := kernels.AsRejection(err); r == nil || r.Status != c.status || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("got %v, want %v: %s", err, c.status, c.reason)
			}
			callGood(t, w, good)
		})
	}
	if err := w.Load("/nowhere/k.so"); err == nil || kernels.AsRejection(err) != nil {
		t.Errorf("a file that does not exist: got %v, want an error that is not the candidate's", err)
	}
}

// TestEndlessEnd: a candidate whose end takes for ever is waited for once, and not in each worker that it is unloaded from.
func TestEndlessEnd(t *testing.T) {
	so := compileText(t, ".c", "#include <stdlib.h>\nstatic void end(void) { for (;;) __asm__(\"\"); }\nvoid tune_kernel(void) { atexit(end); }")
	unload := func() time.Duration {
		w := start(t, Options{Core: -1})
		if err := w.Map([]Buffer{{Name: "C", Bytes: 4, Mode: Out}}, [][]byte{nil}); err != nil {
			t.Fatal(err)
		}
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w.Unload()
		if w.running != nil {
			t.Error("the process is still there")
		}
		return time.Since(began)
	}
	first, again := unload(), unload()
	if first < unloadLimit || again > first/2 {
		t.Errorf("it took %v, and then %v", first, again)
	}
}

// A candidate that sets the flags of its thread must not change what the next one computes.
func TestCandidatesDoNotShareRoundingModes(t *testing.T) {
	so := compileText(t, ".c", `
#include <fenv.h>
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims) {
	*(int32_t *)args[0] = fegetround();
	fesetround(FE_UPWARD);
}`, "-lm")
	w := start(t, Options{})
	if err := w.Map([]Buffer{{Name: "mode", Bytes: 4, Mode: Out}}, [][]byte{nil}); err != nil {
		t.Fatal(err)
	}
	pid := w.running.pid
	for range 2 {
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if mode := w.Outputs()[0]; mode[0]|mode[1]|mode[2]|mode[3] != 0 {
			t.Errorf("the rounding mode of the last candidate is still set: %v", mode)
		}
	}
	if w.running.pid != pid {
		t.Error("the worker was replaced")
	}
}

func TestCancel(t *testing.T) {
	hostile, good := compile(t, "hostile.c"), compile(t, "good.c")
	w := start(t, Options{Core: -1})
	buffers, inputs := hostileBuffers()
	if err := w.Map(buffers, inputs); err != nil {
		t.Fatal(err)
	}
	if err := w.Load(hostile); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := w.Call(ctx, []int64{6, hostileLen}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("cancelling took %v", took)
	}
	if err := w.Call(t.Context(), nil); !errors.Is(err, errNothingLoaded) {
		t.Errorf("a call after a failure: got %v", err)
	}
	callGood(t, w, good)
}

// Whatever ends tune, nothing outlives it.
func TestNothingOutlivesTune(t *testing.T) {
	so := compile(t, "hostile.c")
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0])
		scratch := t.TempDir()
		cmd.Env = append(os.Environ(), holdEnv+"="+so, "TMPDIR="+scratch)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		family := descendants(cmd.Process.Pid, processes(), nil)
		if len(family) != 2 {
			t.Errorf("tune has the descendants %v, want a supervisor and a worker", family)
		}
		begin := time.Now()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		wantGone(t, append(family, pid)...)
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("its worker's folder is left: %v, %v", left, err)
		}
		t.Logf("%v: all were gone after %v", s, time.Since(begin))
	}
}

// A supervisor that the system kills must not leave its worker behind.
func TestNothingOutlivesASupervisor(t *testing.T) {
	so, good := compile(t, "hostile.c"), compile(t, "good.c")
	w := start(t, Options{Core: -1})
	buffers, inputs := hostileBuffers()
	if err := w.Map(buffers, inputs); err != nil {
		t.Fatal(err)
	}
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	n := w.running
	timer := time.AfterFunc(50*time.Millisecond, func() { _ = n.cmd.Process.Kill() })
	defer timer.Stop()
	err := w.Call(t.Context(), []int64{7, hostileLen})
	if r := kernels.AsRejection(err); r == nil || r.Status != space.Crashed {
		t.Errorf("got %v, want a crash", err)
	}
	wantGone(t, n.pid)
	callGood(t, w, good)
}

func TestMapFailures(t *testing.T) {
	w := start(t, Options{})
	if err := w.Map([]Buffer{{Name: "A", Bytes: 4, Mode: In}}, nil); err == nil {
		t.Error("no inputs: no error")
	}
	if err := w.Map([]Buffer{{Name: "A", Bytes: 4, Mode: In}}, [][]byte{{1}}); err == nil {
		t.Error("a short input: no error")
	}
	if err := w.Map([]Buffer{{Name: "A", Bytes: 4, Mode: 0}}, [][]byte{nil}); err == nil {
		t.Error("no mode: no error")
	}
	if err := w.Map([]Buffer{{Name: "A", Bytes: -1, Mode: Out}}, [][]byte{nil}); err == nil {
		t.Error("a negative size: no error")
	}
}

func TestStartFailures(t *testing.T) {
	if _, err := Start(t.Context(), Options{Core: 1 << 9}); err == nil {
		t.Error("a core that does not exist: no error")
	}
	if _, err := Start(t.Context(), Options{Limits: Limits{Memory: -1}}); err == nil {
		t.Error("a negative limit: no error")
	}
	if _, err := Start(t.Context(), Options{Executable: "/bin/true"}); err == nil {
		t.Error("a binary that knows nothing of workers: no error")
	} else {
		t.Log(err)
	}
	if _, err := Start(t.Context(), Options{Executable: "/nowhere"}); err == nil {
		t.Error("a binary that does not exist: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start: got %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		w, err := Start(context.Background(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		_ = w.Close()
	}
}

func BenchmarkLoadAndCall(b *testing.B) {
	so := compile(b, "good.c")
	w := start(b, Options{})
	mapGood(b, w)
	for b.Loop() {
		if err := w.Load(so); err != nil {
			b.Fatal(err)
		}
		if err := w.Call(context.Background(), []int64{3}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	so := compile(b, "good.c")
	w := start(b, Options{})
	mapGood(b, w)
	if err := w.Load(so); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := w.Call(context.Background(), []int64{3}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRenew: a process that has loaded nothing is fresh, and is not replaced by another one; one that has loaded something is, unless that
// was only the object that it is kept for.
func TestRenew(t *testing.T) {
	so := compile(t, "good.c")
	w := start(t, Options{Core: -1})
	first := w.running.pid
	w.Renew("")
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if w.running.pid != first {
		t.Error("a fresh process was replaced")
	}
	other := compile(t, "threads.c")
	for _, step := range []struct {
		but, load string
		fresh     bool
	}{{"", so, true}, {so, so, false}, {other, so, true}, {so, other, false}, {so, so, true}, {so, so, false}, {"", so, true}} {
		before := w.running.pid
		w.Renew(step.but)
		if err := w.Load(step.load); err != nil {
			t.Fatal(err)
		}
		if fresh := w.running.pid != before; fresh != step.fresh || fresh && w.Shared() {
			t.Errorf("after Renew(%q) and Load(%q) the process is fresh: %v", step.but, step.load, fresh)
		}
	}
}
