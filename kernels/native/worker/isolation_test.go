//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// headersC is what the kernels of these tests include.
const headersC = `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <locale.h>
#include <mqueue.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#define need(ok) if (!(ok)) { fprintf(stderr, "not so: %s\n", #ok); abort(); }
static pid_t tune(void)
{
	char path[64], text[512] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
	int fd = open(path, O_RDONLY), pid = 0;
	if (read(fd, text, sizeof text - 1) > 0)
		sscanf(strrchr(text, ')'), ") %*c %d", &pid);
	close(fd);
	return pid;
}
static void *stay(void *p) { prctl(PR_SET_NAME, "Web Content"); for (;;) pause(); }
static void *spin(void *p) { prctl(PR_SET_NAME, p); for (;;) ; }
`

// kernelC returns a kernel of one body. Its buffers are A (in) and C (out), of 4096 bytes.
func kernelC(body, rest string) string {
	return headersC + rest + "\nvoid tune_kernel(void *const *args, const int64_t *dims)\n{\n" +
		"\tconst char *A = args[0]; char *C = args[1]; pthread_t t; (void)A; (void)t;\n\tmemset(C, 0, 4096);\n\t" + body + "\n}\n"
}

const isolationLen = 4096

func mapIsolation(t *testing.T, w *Worker) {
	t.Helper()
	if err := w.Map([]Buffer{{Name: "A", Bytes: isolationLen, Mode: In}, {Name: "C", Bytes: isolationLen, Mode: Out}}, [][]byte{make([]byte, isolationLen), nil}); err != nil {
		t.Fatal(err)
	}
}

// called starts a worker that has loaded and called a candidate.
func called(t *testing.T, so string) *Worker {
	t.Helper()
	w := start(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// witnessC writes what a candidate could have changed about its process.
const witnessC = `
	int64_t *w = (int64_t *)C;
	struct itimerval it;
	for (int i = 0; i < 3; i++) { getitimer(i, &it); *w++ = it.it_value.tv_sec + it.it_value.tv_usec + it.it_interval.tv_usec; }
	int limits[] = {RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_NPROC};
	struct rlimit l;
	for (int i = 0; i < 7; i++) { getrlimit(limits[i], &l); *w++ = l.rlim_cur; *w++ = l.rlim_max; }
	for (int i = 1; i < 65; i++) { struct sigaction a = {0}; sigaction(i, NULL, &a); *w++ = (int64_t)a.sa_handler; }
	sigset_t mask; sigemptyset(&mask); pthread_sigmask(0, NULL, &mask);
	for (int i = 1; i < 65; i++) *w++ = sigismember(&mask, i);
	mode_t m = umask(022); umask(m); *w++ = m;
	*w++ = getenv("LEFT") != NULL; *w++ = getenv("HOME") != NULL;
	*w++ = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0); *w++ = prctl(PR_GET_DUMPABLE); *w++ = personality(0xffffffff);
	char cwd[4096] = {0}; need(getcwd(cwd, sizeof cwd) != NULL); for (char *p = cwd; *p; p++) *w = 31 * *w + *p; w++;
#if defined(__x86_64__)
	*w++ = __builtin_ia32_stmxcsr() & ~0x3f;
#endif
	*w++ = getpriority(PRIO_PROCESS, 0); cpu_set_t set; sched_getaffinity(0, sizeof set, &set); *w++ = CPU_COUNT(&set);
	for (int fd = 0; fd < 64; fd++) { struct stat s = {0}; fstat(fd, &s); *w++ = s.st_mode & S_IFMT ? s.st_mode : 0; } // the worker's own have no type
	*w++ = getuid(); *w++ = getgid();`

// loneCases are candidates that would harm those that follow, or tune. Each is its own rejection, or right and followed in a
// process that has nothing of it.
var loneCases = []struct {
	name, body, rest string
	reason           string // a part of the rejection's; "" where it is right
}{
	{"setitimer", `struct itimerval v = {{0, 1000}, {0, 1000}}; signal(SIGALRM, SIG_IGN); setitimer(ITIMER_REAL, &v, NULL);`, "", "tried to set a timer"},
	{"setitimer that profiles", `struct itimerval v = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_PROF, &v, NULL);`, "", "tried to set a timer"},
	{"alarm", `alarm(1);`, "", "tried to set a timer"},
	{"timer_create", `struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL}; timer_t id; timer_create(CLOCK_MONOTONIC, &e, &id);`, "", "tried to set a timer"},
	{"setrlimit of files", `struct rlimit l = {0, 0}; setrlimit(RLIMIT_NOFILE, &l);`, "", "tried to change the limits of its process"},
	{"setrlimit of memory", `struct rlimit l = {1 << 20, 1 << 20}; setrlimit(RLIMIT_AS, &l);`, "", "tried to change the limits of its process"},
	{"setrlimit of CPU time", `struct rlimit l = {1, 1}; prlimit(0, RLIMIT_CPU, &l, NULL);`, "", "tried to change the limits of its process"},
	{"chdir", `chdir("/");`, "", "tried to change the working folder"},
	{"fchdir", `fchdir(open("/", O_RDONLY));`, "", "tried to change the working folder"},
	{"setuid", `syscall(SYS_setuid, 65534);`, "", "tried to change the user"},
	{"capset", `syscall(SYS_capset, NULL, NULL);`, "", "tried to change the user"},
	{"F_SETOWN", `int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); fcntl(s[0], F_SETOWN, tune());`, "", "tried to have signals sent by the system"},
	{"F_SETOWN_EX", `struct f_owner_ex o = {F_OWNER_PID, tune()}; int s[2]; pipe(s); fcntl(s[0], F_SETOWN_EX, &o);`, "", "tried to have signals sent by the system"},
	{"F_SETSIG", `int s[2]; pipe(s); fcntl(s[0], F_SETSIG, SIGKILL);`, "", "tried to have signals sent by the system"},
	{"O_ASYNC", `int s[2]; pipe(s); fcntl(s[0], F_SETFL, O_ASYNC | O_NONBLOCK);`, "", "tried to have signals sent by the system"},
	{"F_SETLEASE", `fcntl(open("/proc/self/exe", O_RDONLY), F_SETLEASE, F_RDLCK);`, "", "tried to have signals sent by the system"},
	{"F_NOTIFY", `fcntl(open("/", O_RDONLY), F_NOTIFY, DN_CREATE);`, "", "tried to have signals sent by the system"},
	{"FIOASYNC", `int s[2], on = 1; pipe(s); ioctl(s[0], FIOASYNC, &on);`, "", "tried to have signals sent by the system"},
	{"FIOSETOWN", `int s[2], to = tune(); socketpair(AF_UNIX, SOCK_STREAM, 0, s); ioctl(s[0], 0x8901, &to);`, "", "tried to have signals sent by the system"},
	{"SIOCSPGRP", `int s[2], to = tune(); socketpair(AF_UNIX, SOCK_STREAM, 0, s); ioctl(s[0], 0x8902, &to);`, "", "tried to have signals sent by the system"},
	{"TIOCSTI", `ioctl(0, TIOCSTI, "x");`, "", "input typed"},
	{"prctl of the death signal", `prctl(PR_SET_PDEATHSIG, 0);`, "", "tried to change how its process works"},
	{"prctl of large pages", `prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);`, "", "tried to change how its process works"},
	{"prctl of the time stamp counter", `prctl(PR_SET_TSC, PR_TSC_SIGSEGV);`, "", "tried to change how its process works"},
	{"prctl of dumps", `prctl(PR_SET_DUMPABLE, 0);`, "", "tried to change how its process works"},
	{"prctl of system calls", `static char blocked; prctl(59, 1, 0, 0, &blocked);`, "", "tried to change how its process works"},
	{"personality", `personality(ADDR_NO_RANDOMIZE);`, "", "tried to change how its process works"},
	{"seccomp", `syscall(SYS_seccomp, 0, 0, NULL);`, "", "tried to change how its process works"},
	{"arch_prctl that asks", `
#if defined(__x86_64__)
	unsigned long state = 0;
	syscall(SYS_arch_prctl, 0x1021, &state); syscall(SYS_arch_prctl, 0x1022, &state); // fail on old systems only
	need(syscall(SYS_arch_prctl, 0x1003, &state) == 0 && state != 0);
	need(syscall(SYS_arch_prctl, 0x3001, &state) == -1 && errno == EINVAL);
	need(syscall(SYS_arch_prctl, 0x5001, &state) == -1 && errno == EINVAL);
#endif`, "", ""},
	{"mq_open", `syscall(SYS_mq_open, "tune", O_CREAT | O_RDWR, 0600, NULL);`, "", "share with other processes"},
	{"msgget", `msgget(1234, IPC_CREAT | 0600);`, "", "share with other processes"},
	{"semget", `semget(IPC_PRIVATE, 1, 0600);`, "", "share with other processes"},
	{"shmget", `shmget(1234, 4096, IPC_CREAT | 0600);`, "", "share with other processes"},
	{"semop", `struct sembuf b = {0, 1, IPC_NOWAIT}; semop(1, &b, 1);`, "", "share with other processes"},
	{"semtimedop", `struct sembuf b = {0, 1, IPC_NOWAIT}; struct timespec none = {0, 0}; semtimedop(1, &b, 1, &none);`, "", "share with other processes"},
	{"semctl", `semctl(1, 0, GETVAL);`, "", "share with other processes"},
	{"msgsnd", `struct { long type; char c; } m = {1, 0}; msgsnd(1, &m, 1, IPC_NOWAIT);`, "", "share with other processes"},
	{"msgrcv", `struct { long type; char c; } m; msgrcv(1, &m, 1, 0, IPC_NOWAIT);`, "", "share with other processes"},
	{"msgctl", `struct msqid_ds d; msgctl(1, IPC_STAT, &d);`, "", "share with other processes"},
	{"shmat", `shmat(1, NULL, 0);`, "", "share with other processes"},
	{"shmctl", `struct shmid_ds d; shmctl(1, IPC_STAT, &d);`, "", "share with other processes"},
	{"perf_event_open", `syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);`, "", "tried to watch"},
	{"userfaultfd", `syscall(SYS_userfaultfd, 0);`, "", "tried to watch"},
	{"pidfd_open", `syscall(SYS_pidfd_open, getppid(), 0);`, "", "tried to watch"},
	{"slows down its main thread", `setpriority(PRIO_PROCESS, getpid(), 19);`, "", "tried to change how another process is scheduled"},
	{"TCP", `socket(AF_INET, SOCK_STREAM, 0);`, "", "tried to open a network connection"},
	{"UDP over IPv6", `socket(AF_INET6, SOCK_DGRAM, 0);`, "", "tried to open a network connection"},
	{"packets", `socket(AF_PACKET, SOCK_RAW, 0);`, "", "tried to open a network connection"},
	{"tgkill", `syscall(SYS_tgkill, tune(), tune(), 0);`, "", "tried to send a signal to another process"},
	{"rt_sigqueueinfo", `siginfo_t i = {0}; syscall(SYS_rt_sigqueueinfo, tune(), SIGTERM, &i);`, "", "tried to send a signal to another process"},
	{"pidfd_send_signal", `syscall(SYS_pidfd_send_signal, 0, 0, NULL, 0);`, "", "tried to send a signal to another process"},
	{"vmsplice", `struct iovec v = {C, 8}; int ends[2]; need(pipe(ends) == 0); vmsplice(ends[1], &v, 1, 0);`, "", "tried to keep memory in a pipe"},
	{"shared memory that it leaves", `need(shmget(IPC_PRIVATE, 4096, 0600) >= 0);`, "", ""},
	{"reads the memory of tune", `struct iovec v = {C, 8}; process_vm_readv(tune(), &v, 1, &v, 1, 0);`, "", "tried to reach into another process"},
	{"takes a descriptor of tune", `syscall(SYS_pidfd_getfd, 0, 0, 0);`, "", "tried to reach into another process"},
	{"slows tune down", `setpriority(PRIO_PROCESS, tune(), 1);`, "", "tried to change how another process is scheduled"},
	{"io_uring", `syscall(SYS_io_uring_setup, 1, NULL);`, "", "tried to change the system"},
	{"limits in a thread", `pthread_create(&t, NULL, (void *(*)(void *))alarm, (void *)1); pthread_join(t, NULL);`, "", "tried to set a timer"},
	{"limits in its destructor", ``, `__attribute__((destructor)) static void end(void) { struct rlimit l = {0, 0}; setrlimit(RLIMIT_NOFILE, &l); }`, ""},
	{"umask", `umask(0777);`, "", ""},
	{"signal handler", `signal(SIGUSR1, SIG_IGN); signal(SIGFPE, SIG_IGN);`, "", ""},
	{"signal mask", `sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL);`, "", ""},
	{"environment", `setenv("LEFT", "1", 1); unsetenv("HOME");`, "", ""},
	{"a leaked file", `need(open("/proc/self/maps", O_RDONLY) >= 0);`, "", ""},
	{"another file for stdout", `need(dup2(open("/dev/null", O_RDWR), 1) == 1);`, "", ""},
	{"a thread under another name", `pthread_create(&t, NULL, stay, NULL);`, "", ""},
	{"a thread that works on", `pthread_create(&t, NULL, spin, "kworker/0:1"); pthread_create(&t, NULL, spin, "tune-worker");`, "", ""},
	{"a thread that its destructor starts", ``, `__attribute__((destructor)) static void end(void) { pthread_t t; pthread_create(&t, NULL, spin, "x"); usleep(1000); }`, ""},
	{"rounding and denormals", `
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr(0xffc0);
#endif`, "", ""},
	{"locked memory", `mlockall(MCL_CURRENT | MCL_FUTURE);`, "", ""},
	{"a file in its folder", `char path[256]; snprintf(path, sizeof path, "%s/left", getenv("TMPDIR")); need(open(path, O_CREAT | O_WRONLY, 0600) >= 0);`, "", ""},
	{"its buffers unmapped", `if (!page) page = (void *)((uintptr_t)A & ~4095ul);`, `static void *page; __attribute__((destructor)) static void end(void) { munmap(page, 4096); }`, ""},
	{"its buffers protected", `if (!page) page = (void *)((uintptr_t)C & ~4095ul);`, `static void *page; __attribute__((destructor)) static void end(void) { mprotect(page, 4096, PROT_READ); }`, ""},
	{"sealed buffers", `syscall(462 /* mseal */, (uintptr_t)A & ~4095ul, 4096, 0);`, "", ""},
	{"everything closed at its end", ``, `__attribute__((destructor)) static void end(void) { for (int i = 0; i < 64; i++) close(i); }`, ""},
	{"a crash at its end", ``, `__attribute__((destructor)) static void end(void) { abort(); }`, ""},
	{"an endless end", ``, `__attribute__((destructor)) static void end(void) { for (;;) ; }`, ""},
	{"garbage for tune at its end", ``, `__attribute__((destructor)) static void end(void) { write(3, "{}", 2); write(3, "{\"Seq\":7}", 9); }`, ""},
	{"pinned worker threads", `for (int i = getpid(); i < getpid() + 12; i++) { cpu_set_t s; CPU_ZERO(&s); CPU_SET(sched_getcpu(), &s); char p[64]; snprintf(p, 64, "/proc/self/task/%d", i); if (access(p, F_OK) == 0) sched_setaffinity(i, sizeof s, &s); }`, "", ""},
}

// loneKernels compiles the bodies of loneCases, as branches of one kernel but for those with a part outside of it. It returns the object of
// each and the dimension that chooses its body.
func loneKernels(t *testing.T) func(i int) (so string, dims []int64) {
	var branches strings.Builder
	for i, c := range loneCases {
		if c.rest == "" {
			fmt.Fprintf(&branches, "\tcase %d: {\n%s\n\tbreak; }\n", i, c.body)
		}
	}
	shared := compileText(t, ".c", kernelC("switch (dims[0]) {\n"+branches.String()+"\t}", ""))
	return func(i int) (string, []int64) {
		if c := loneCases[i]; c.rest != "" {
			return compileText(t, ".c", kernelC(c.body, c.rest)), nil
		}
		return shared, []int64{int64(i)}
	}
}

// TestABadCandidateCostsItselfAlone gives one worker all of loneCases. Between any two it gives it a witness, which has to find its process as it
// was before all of them.
func TestABadCandidateCostsItselfAlone(t *testing.T) {
	witness, kernel := compileText(t, ".c", kernelC(witnessC, "")), loneKernels(t)
	w := startTimer(t, Options{Core: -1, Limits: Limits{Wall: 10 * time.Second, CPU: 10 * time.Second}})
	look := func(t *testing.T) []byte {
		t.Helper()
		mapIsolation(t, w)
		if err := w.Load(witness); err != nil {
			t.Fatalf("the one that follows: %v", err)
		}
		if err := w.Call(t.Context(), nil); err != nil {
			t.Fatalf("the one that follows: %v", err)
		}
		seconds, err := w.Time(t.Context(), TimeRequest{Calls: 2, Samples: 2, Clock: CPU})
		if err != nil || len(seconds.Seconds) != 2 {
			t.Fatalf("timing the one that follows: %v, %v", seconds, err)
		}
		return bytes.Clone(w.Outputs()[1])
	}
	want := look(t)
	if w.Shared() {
		t.Error("the first candidate is said to share its process")
	}
	for i, c := range loneCases {
		t.Run(c.name, func(t *testing.T) {
			so, dims := kernel(i)
			used := w.running.pid
			mapIsolation(t, w)
			err := w.Load(so)
			if err == nil && !w.Shared() {
				t.Error("the second candidate is said to share no process")
			}
			if err == nil {
				err = w.Call(t.Context(), dims)
			}
			if err == nil {
				_, err = w.Time(t.Context(), TimeRequest{Calls: 1, Samples: 1, Clock: CPU, Places: 2, Dims: dims})
			}
			if r := kernels.AsRejection(err); c.reason == "" && err != nil {
				if strings.HasPrefix(c.name, "a thread") && r != nil && strings.Contains(r.Reason, "the file says 1") {
					err = nil // Where they have worked long enough to be seen, it is refused besides.
				}
				if c.name == "shared memory that it leaves" && r != nil && strings.Contains(r.Reason, "waits in its calls") {
					err = nil // The watcher makes that memory. Where the watcher has to wait for a core, so does the call.
				}
			}
			if r := kernels.AsRejection(err); c.reason == "" && err != nil {
				t.Errorf("got %v, want a right candidate", err)
			} else if c.reason != "" && (r == nil || r.Status != space.Crashed || !strings.Contains(r.Reason, c.reason)) {
				t.Errorf("got %v, want crashed: %s", err, c.reason)
			}
			harmless := slices.Contains([]string{"arch_prctl that asks", "signal handler", "signal mask", "rounding and denormals", "locked memory", "its buffers unmapped", "its buffers protected"}, c.name) ||
				c.name == "pinned worker threads" && runtime.NumCPU() == 1 // they have that core already
			for range 2 {
				if got := look(t); !bytes.Equal(got, want) {
					t.Errorf("the one that follows finds its process changed:\n%v\nwant\n%v", words(got), words(want))
				}
				if kept := w.running.pid == used; kept != harmless {
					t.Errorf("the one that follows is in the same process: %v", kept)
				}
			}
		})
	}
}

// Kernels pin their own threads, and no others; see TestRuntimesWork.
func TestOthersAreNotPinned(t *testing.T) {
	so := compileText(t, ".c", kernelC(`cpu_set_t s; sched_getaffinity(dims[0], sizeof s, &s); C[0] = sched_setaffinity(dims[0], sizeof s, &s) == 0; C[1] = 1;`, ""))
	other := exec.Command("sleep", "100")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	w := start(t, Options{Core: -1})
	pin := func(thread int) error {
		mapIsolation(t, w)
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		return w.Call(t.Context(), []int64{int64(thread)})
	}
	of := func(pid int) (last int) {
		threads, _ := look(pid)
		for tid := range threads {
			last = max(last, tid)
		}
		return last
	}
	for _, thread := range []func() int{
		func() int { return other.Process.Pid },
		func() int { return of(os.Getpid()) },
		func() int { return of(w.running.cmd.Process.Pid) },
	} {
		if err := pin(0); err != nil || w.Outputs()[1][0] != 1 {
			t.Errorf("its own thread: %v", err)
		}
		wantRejection(t, pin(thread()), space.Crashed, "tried to change how another process is scheduled")
	}
	// There is nobody to harm by a number that nothing has.
	if err := pin(1 << 29); err != nil || w.Outputs()[1][0] != 0 || w.Outputs()[1][1] != 1 {
		t.Errorf("a number that nothing has: %v", err)
	}
}

// TestSharedMemoryByID: a kernel cannot use shared memory of others by its id, and what it makes itself goes with its worker.
func TestSharedMemoryByID(t *testing.T) {
	others, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err != nil {
		t.Skip("this system has no shared memory with ids: ", err)
	}
	defer func() { _, _ = unix.SysvShmCtl(others, unix.IPC_RMID, nil) }()
	w := start(t, Options{Core: -1})
	call := func(body string, dims ...int64) error {
		mapIsolation(t, w)
		if err := w.Load(compileText(t, ".c", kernelC(body, ""))); err != nil {
			t.Fatal(err)
		}
		return w.Call(t.Context(), dims)
	}
	for _, body := range []string{
		`char *p = shmat(dims[0], NULL, 0); if (p != (void *)-1) *p = 1;`, `shmctl(dims[0], IPC_RMID, NULL);`,
	} {
		wantRejection(t, call(body, int64(others)), space.Crashed, "share with other processes")
	}
	if _, err := unix.SysvShmCtl(others, unix.IPC_STAT, &unix.SysvShmDesc{}); err != nil {
		t.Errorf("the memory of others: %v", err)
	}
	if err := call(`*(int *)C = shmget(IPC_PRIVATE, 4096, 0600);`); err != nil {
		t.Fatal(err)
	}
	left := int(*(*int32)(unsafe.Pointer(&w.Outputs()[1][0])))
	if _, err := unix.SysvShmCtl(left, unix.IPC_STAT, &unix.SysvShmDesc{}); err != nil {
		t.Errorf("the memory of a loaded kernel: %v", err)
	}
	_ = w.Close()
	if _, err := unix.SysvShmCtl(left, unix.IPC_STAT, &unix.SysvShmDesc{}); err == nil {
		t.Error("the memory of a kernel has outlived its worker")
	}
}

// TestHoards: shared memory with an id counts for the limit on memory also while nobody has mapped it, and what a kernel leaves of it goes before
// the next kernel is called.
func TestHoards(t *testing.T) {
	so := compileText(t, ".c", kernelC(`int id; while (C[0] < 100 && (id = shmget(IPC_PRIVATE, 16 << 20, 0600)) >= 0) { ((int *)C)[1 + C[0]] = id; C[0]++; }
	C[1] = errno == ENOMEM;`, ""))
	w := start(t, Options{Core: -1, Limits: Limits{Memory: 100 << 20}})
	if !hasWatcher(t) {
		t.Skip("this system has no watcher, so that kernels get no shared memory at all")
	}
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	out := w.Outputs()[1]
	if out[0] != 6 || out[1] != 1 {
		t.Errorf("within 100 MiB it got %d times 16 MiB, and then: no memory: %d", out[0], out[1])
	}
	pid := w.running.pid
	ids := unsafe.Slice((*int32)(unsafe.Pointer(&out[0])), 7)[1:]
	left := func() (n int) {
		for _, id := range ids {
			if _, err := unix.SysvShmCtl(int(id), unix.IPC_STAT, &unix.SysvShmDesc{}); err == nil {
				n++
			}
		}
		return n
	}
	if left() == 0 {
		t.Error("the memory of a loaded kernel is gone")
	}
	w.Unload()
	wantGone(t, pid)
	if n := left(); n > 0 {
		t.Errorf("%d of its pieces of memory are left", n)
	}
	callGood(t, w, compile(t, "good.c"))
}

// TestSharedMemoryIsPrivate: memory that a process could share with others it started stays as long as a page of it is mapped, and no limit counts it. So
// it is private, and there are not many files in memory.
func TestSharedMemoryIsPrivate(t *testing.T) {
	if !hasWatcher(t) {
		t.Skip("this system has no watcher")
	}
	so := compileText(t, ".c", kernelC(`const int all = PROT_READ | PROT_WRITE, size = 8 << 20; char line[512];
	int zero = open("/dev/zero", O_RDWR), file = memfd_create("mine", 0); need(zero >= 0 && file >= 0 && ftruncate(file, 4096) == 0);
	char *p[] = {mmap(NULL, size, all, MAP_SHARED | MAP_ANONYMOUS, -1, 0), mmap(NULL, size, all, MAP_SHARED, zero, 0),
		mmap(NULL, size, PROT_READ, MAP_SHARED, open("/dev/zero", O_RDONLY), 0), mmap(NULL, 4096, all, MAP_SHARED, file, 0)};
	for (int i = 0; i < 4; i++) need(p[i] != MAP_FAILED && p[i][4095] == 0);
	memset(p[0], 1, size); memset(p[1], 2, size); strcpy(p[3], "shared"); need(pread(file, line, 7, 0) == 7 && strcmp(line, "shared") == 0);
	need(mmap(NULL, 4096, all, MAP_SHARED, 99, 0) == MAP_FAILED && errno == EBADF);
	FILE *f = fopen("/proc/self/maps", "r"); need(f != NULL);
	while (fgets(line, sizeof line, f)) { unsigned long from, to; char mode[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3)
			for (int i = 0; i < 4; i++) if (from <= (uintptr_t)p[i] && (uintptr_t)p[i] < to) C[i] = mode[3]; }
	for (C[4] = 1; C[4] < 100; C[4]++) { int fd = memfd_create("more", 0); if (fd < 0) break; close(fd); }
	C[5] = errno == EMFILE;`, ""))
	w := called(t, so)
	if got := string(w.Outputs()[1][:4]); got != "ppps" {
		t.Errorf("memory of no file, of the device zero twice, and of a file is %q, want ppps", got)
	}
	if out := w.Outputs()[1]; out[4] != mostMemoryFiles || out[5] != 1 {
		t.Errorf("it made %d files in memory, and then was told that there were too many: %d", out[4], out[5])
	}
	callGood(t, w, compile(t, "good.c"))
}

// hasWatcher reports whether the system lets the filter ask.
func hasWatcher(t *testing.T) bool {
	t.Helper()
	status, err := readFile("/proc/self/status")
	return err == nil && bytes.Contains(status, []byte("\nSeccomp_filters:"))
}

// TestFilledFolder: a kernel cannot fill the disk, or memory, by many small files in its folder.
func TestFilledFolder(t *testing.T) {
	if landlockVersion() < landlockTruncate {
		t.Skip("this system has no Landlock, or an old one")
	}
	so := compileText(t, ".c", kernelC(`char path[256]; static char text[64 << 10];
	for (int i = 0; i < dims[0]; i++) {
		snprintf(path, sizeof path, "%s/%d", getenv("TMPDIR"), i);
		int fd = open(path, O_CREAT | O_WRONLY, 0600); need(fd >= 0);
		if (dims[1]) need(write(fd, text, sizeof text) == sizeof text);
		close(fd);
	}`, ""))
	w := start(t, Options{Core: -1, Limits: Limits{File: 64 << 10}}) // 4 MiB in all
	for _, c := range []struct {
		files, full int64
		ok          bool
	}{{50, 1, true}, {80, 1, false}, {900, 0, true}, {1100, 0, false}} {
		mapIsolation(t, w)
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		folder := w.running.scratch
		err := w.Call(t.Context(), []int64{c.files, c.full})
		if c.ok && err != nil {
			t.Errorf("%d files: %v", c.files, err)
		} else if !c.ok {
			wantRejection(t, err, space.Crashed, "wrote files of more than 4 MiB in all to its folder")
		}
		w.Unload()
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("the folder of %d files is left", c.files)
		}
	}
}

// TestSignalsAreNotHandled: a candidate cannot have a handler of its own run between its calls, goes on without one, and may cancel threads.
func TestSignalsAreNotHandled(t *testing.T) {
	so := compileText(t, ".c", kernelC(`void *how = NULL;
	C[0] = signal(SIGTRAP, handle) == SIG_ERR; C[1] = errno == EPERM; C[2] = signal(SIGUSR1, SIG_IGN) == SIG_ERR;
	need(pthread_create(&t, NULL, forever, NULL) == 0); need(pthread_cancel(t) == 0); need(pthread_join(t, &how) == 0);
	C[3] = how == PTHREAD_CANCELED;
	int64_t raw[4] = {0};
	C[4] = syscall(SYS_rt_sigaction, 32, raw, NULL, 8) == -1; C[5] = syscall(SYS_rt_sigaction, 33, raw, NULL, 8) == -1;
	if (dims[0]) raise(SIGTRAP);`, `static void handle(int s) { (void)s; } static void *forever(void *p) { for (;;) pause(); return p; }`))
	w := start(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), []int64{0}); err != nil {
		t.Fatal(err)
	}
	if got := w.Outputs()[1][:6]; !bytes.Equal(got, []byte{1, 1, 1, 1, 1, 1}) {
		t.Errorf("no handler, the reason, no ignored signal, a cancelled thread, no handler of the C library's two: %v", got)
	}
	if err := w.Call(t.Context(), []int64{1}); kernels.AsRejection(err) == nil {
		t.Errorf("a signal without a handler: %v", err)
	}
	callGood(t, w, compile(t, "good.c"))
}

// TestErrorsOfHarmedWorkersAreRejections: what the worker cannot do once code of a candidate has run is that candidate's
// doing, and no error of tune's.
func TestErrorsOfHarmedWorkersAreRejections(t *testing.T) {
	so := compileText(t, ".c", kernelC(`need(syscall(462 /* mseal */, (uintptr_t)A & ~4095ul, 4096, 0) == 0 || errno == ENOSYS); C[0] = errno == ENOSYS;`, ""))
	w := called(t, so)
	if w.Outputs()[1][0] != 0 {
		t.Skip("this system has no mseal")
	}
	// Its buffers can no longer be replaced by others.
	mapIsolation(t, w)
	wantRejection(t, w.Call(t.Context(), nil), space.Crashed, "could not go on: ")
	callGood(t, w, compile(t, "good.c"))
}

// TestLeakedDescriptorsAreNamed: a candidate that leaves files open until no more may be is told so.
func TestLeakedDescriptorsAreNamed(t *testing.T) {
	so := compileText(t, ".c", kernelC(`while (open("/proc/self/maps", O_RDONLY) >= 0) {}`, ""))
	w := called(t, so)
	mapIsolation(t, w)
	wantRejection(t, w.Call(t.Context(), nil), space.Crashed, "could not go on: 64 files are open, and no more may be: close what the calls open")
	callGood(t, w, compile(t, "good.c"))
}

func words(b []byte) (list []int64) {
	for i := 0; i+8 <= len(b); i += 8 {
		var v int64
		for j := range 8 {
			v |= int64(b[i+j]) << (8 * j)
		}
		list = append(list, v)
	}
	return list
}

// TestWorkersChangeNoFiles: whatever the user could do to files, a kernel cannot; with and without Landlock.
func TestWorkersChangeNoFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
	}{{"Landlock", Options{Core: -1}}, {"no Landlock", Options{Core: -1, open: true}}} {
		t.Run(c.name, func(t *testing.T) {
			if !c.o.open && landlockVersion() < landlockTruncate {
				t.Skip("this system has no Landlock, or an old one")
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "mine")
			if err := os.WriteFile(file, []byte("kept"), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
				t.Fatal(err)
			}
			so := compileText(t, ".c", kernelC(fmt.Sprintf(`
	const char *dir = %q, *f = %q;
	char n[512], e[512]; snprintf(n, sizeof n, "%%s/new", dir); snprintf(e, sizeof e, "%%s/empty", dir);
	struct utimbuf times = {0, 0};
	C[0] = open(f, O_WRONLY) >= 0; C[1] = open(f, O_RDWR) >= 0; C[2] = open(f, O_RDONLY | O_TRUNC) >= 0;
	C[3] = open(n, O_CREAT | O_RDONLY, 0600) >= 0; C[4] = creat(n, 0600) >= 0; C[5] = truncate(f, 0) == 0;
	C[6] = unlink(f) == 0; C[7] = rename(f, n) == 0; C[8] = link(f, n) == 0; C[9] = symlink(f, n) == 0;
	C[10] = mkdir(n, 0700) == 0; C[11] = rmdir(e) == 0; C[12] = mkfifo(n, 0600) == 0; C[13] = chmod(f, 0777) == 0;
	C[14] = chown(f, 1, 1) == 0; C[15] = utime(f, &times) == 0; C[16] = open(dir, O_TMPFILE | O_RDWR, 0600) >= 0;
	C[18] = tmpfile() != NULL;
	C[19] = syscall(SYS_setxattr, f, "user.x", "y", 1, 0) == 0; C[20] = open("/proc/self/oom_score_adj", O_WRONLY) >= 0;
	uint64_t how[3] = {O_RDWR, 0, 0}; C[21] = syscall(SYS_openat2, AT_FDCWD, f, how, sizeof how) >= 0;
	C[22] = unlinkat(AT_FDCWD, f, 0) == 0; C[23] = renameat(AT_FDCWD, f, AT_FDCWD, n) == 0;
	C[24] = fchmod(open(f, O_RDONLY), 0777) == 0;
	C[25] = socket(AF_UNIX, SOCK_STREAM, 0) >= 0; C[26] = socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
	C[100] = open(f, O_RDONLY) >= 0; C[101] = open("/proc/cpuinfo", O_RDONLY) >= 0; C[102] = 1;`, dir, file), ""), "-lrt")
			w := start(t, c.o)
			mapIsolation(t, w)
			if err := w.Load(so); err != nil {
				t.Fatal(err)
			}
			if err := w.Call(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			out := w.Outputs()[1]
			for i := range 100 {
				if out[i] != 0 {
					t.Errorf("operation %d was allowed", i)
				}
			}
			for i := 100; i < 103; i++ {
				if out[i] != 1 {
					t.Errorf("operation %d was refused", i)
				}
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
				t.Errorf("the file holds %q, %v", text, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("the folder holds %v, %v", entries, err)
			}
		})
	}
}

// TestRuntimesWork: what honest kernels and their libraries ask of the system, they get.
func TestRuntimesWork(t *testing.T) {
	body := `
	struct rlimit l; need(getrlimit(RLIMIT_STACK, &l) == 0); need(prlimit(0, RLIMIT_NOFILE, NULL, &l) == 0);
	cpu_set_t s; need(sched_getaffinity(0, sizeof s, &s) == 0);
	pthread_attr_t a; need(pthread_attr_init(&a) == 0); need(pthread_attr_setaffinity_np(&a, sizeof s, &s) == 0);
	need(pthread_create(&t, &a, once, NULL) == 0); need(pthread_setaffinity_np(t, sizeof s, &s) == 0 || 1); need(pthread_join(t, NULL) == 0);
	need(setlocale(LC_ALL, "C") != NULL); (void)getpwuid(getuid());
	void *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); need(p != MAP_FAILED);
	need(madvise(p, 8 << 20, MADV_HUGEPAGE) == 0 || 1); need(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0); need(munmap(p, 8 << 20) == 0);
	int fd = memfd_create("jit", 0); need(fd >= 0 && ftruncate(fd, 4096) == 0 && write(fd, "x", 1) == 1); close(fd);
	fd = open("/proc/cpuinfo", O_RDONLY); need(fd >= 0); need(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_GETFL) >= 0); close(fd);
	fd = open("/sys/devices/system/cpu/online", O_RDONLY); need(fd >= 0); close(fd);
	fd = open("/dev/null", O_WRONLY); need(fd >= 0 || !getenv("TMPDIR")); need(fd < 0 || write(fd, "x", 1) == 1); close(fd);
	int id = shmget(IPC_PRIVATE, 4096, 0600); need(id >= 0); p = shmat(id, NULL, 0); need(p != (void *)-1); need(shmctl(id, IPC_RMID, NULL) == 0); need(shmdt(p) == 0);
	prctl(PR_SET_NAME, "mine"); need(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) >= 0); need(personality(0xffffffff) >= 0);
	need(setpriority(PRIO_PROCESS, 0, 19) == 0); printf("a line\n"); fflush(stdout); usleep(100);
	struct sigaction act; need(sigaction(SIGFPE, NULL, &act) == 0);
	char path[256]; int ends[2]; need(pipe(ends) == 0); need(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0); close(ends[0]); close(ends[1]);
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); close(ends[0]); close(ends[1]);
	if (getenv("TMPDIR")) { snprintf(path, sizeof path, "%s/x", getenv("TMPDIR")); FILE *f = fopen(path, "w"); need(f != NULL); fclose(f); need(unlink(path) == 0); }
	#pragma omp parallel
	C[0] = 0;`
	rest := `static void *once(void *p) { return p; }`
	so := compileText(t, ".c", kernelC(body, rest), "-lrt")
	for _, open := range []bool{false, true} {
		if open {
			t.Setenv("TMPDIR", "")
			os.Unsetenv("TMPDIR")
		}
		w := start(t, Options{Core: -1, open: open})
		pid := w.running.pid
		for range 3 {
			mapIsolation(t, w)
			if err := w.Load(so); err != nil {
				t.Fatal(err)
			}
			if err := w.Call(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		if w.running.pid != pid {
			t.Errorf("open %v: the worker was replaced, although no candidate harmed it", open)
		}
		callGood(t, w, compile(t, "good.c"))
		if w.running.pid != pid {
			t.Errorf("open %v: the worker was replaced, although no candidate harmed it", open)
		}
		if got := w.running.landlock; open && got != 0 || !open && got != landlockVersion() {
			t.Errorf("open %v: Landlock %d", open, got)
		}
	}
}

// TestSharedMemoryFolder: only candidates that are linked with a runtime that needs /dev/shm may write there.
func TestSharedMemoryFolder(t *testing.T) {
	const body = `
	char path[256]; snprintf(path, sizeof path, "/tune-test-%d", (int)getpid()); int fd = shm_open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
	C[0] = fd >= 0 && ftruncate(fd, 4096) == 0; close(fd); shm_unlink(path);
	snprintf(path, sizeof path, "/__KMP_REGISTERED_LIB_%d_0", (int)getpid()); close(shm_open(path, O_CREAT | O_EXCL | O_RDWR, 0600)); // left as LLVM's is`
	without := compileText(t, ".c", kernelC(body, ""), "-lrt")
	runtime := compileText(t, ".c", "void __kmpc_fork_call(void) {}\n")
	with := compileText(t, ".c", kernelC(body, "void __kmpc_fork_call(void);\nvoid *use = __kmpc_fork_call;\n"), runtime, "-lrt")
	for _, open := range []bool{false, true} {
		w := start(t, Options{Core: -1, open: open})
		var pids []int
		for i, sharing := range []bool{false, true, true, false} {
			mapIsolation(t, w)
			so := without
			if sharing {
				so = with
			}
			if err := w.Load(so); err != nil {
				t.Fatal(err)
			}
			if err := w.Call(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			// Without Landlock a kernel may make shared memory, and not remove it.
			_ = os.Remove(fmt.Sprintf("/dev/shm/tune-test-%d", w.running.pid))
			if made := w.Outputs()[1][0] == 1; made != sharing {
				t.Errorf("open %v: shared memory was made: %v, want %v", open, made, sharing)
			}
			if kept := slices.Contains(pids, w.running.pid); kept != (i == 2) {
				t.Errorf("open %v: candidate %d is in the process of the one before: %v", open, i, kept)
			}
			pids = append(pids, w.running.pid)
		}
		_ = w.Close()
		for _, pid := range pids {
			if left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/__KMP_REGISTERED_LIB_%d_*", pid)); len(left) > 0 {
				t.Errorf("open %v: %v is left", open, left)
			}
		}
	}
}

// OpenMP keeps its threads for the next call. They are left behind when the object is unloaded, and cost the process.
func TestOpenMPWorks(t *testing.T) {
	so := compileText(t, ".c", kernelC("#pragma omp parallel num_threads(2)\n\tC[0] = 0;", ""), "-fopenmp")
	t.Setenv("OMP_PROC_BIND", "true")
	w := start(t, Options{Core: -1})
	for range 3 {
		mapIsolation(t, w)
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := w.Call(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	callGood(t, w, compile(t, "good.c"))
}

// TestUnload: a candidate's threads end before its worker is idle, and with them the process.
func TestUnload(t *testing.T) {
	w := start(t, Options{Core: -1})
	for _, c := range []struct {
		name, body string
		ends       bool
	}{
		{"a thread that sleeps", `pthread_create(&t, NULL, stay, NULL);`, true},
		{"a thread that works", `pthread_create(&t, NULL, spin, "x");`, true},
		{"no thread", `C[0] = 0;`, false},
	} {
		so := compileText(t, ".c", kernelC(c.body, ""))
		mapIsolation(t, w)
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		pid := w.running.pid
		w.Unload()
		w.Unload() // does nothing
		// Where code runs on that has been unloaded, the process may end by itself.
		if c.ends {
			wantGone(t, pid)
		} else if w.running == nil {
			t.Errorf("%s: the process has ended", c.name)
		}
	}
	callGood(t, w, compile(t, "good.c"))
}

// TestScratchIsRemoved: a worker's folder goes with it, also where somebody kills it or its supervisor.
func TestScratchIsRemoved(t *testing.T) {
	if landlockVersion() < landlockTruncate {
		t.Skip("this system has no Landlock, or an old one")
	}
	t.Setenv("TMPDIR", t.TempDir())
	so := compileText(t, ".c", kernelC(`char path[256]; snprintf(path, sizeof path, "%s/left", getenv("TMPDIR")); need(open(path, O_CREAT | O_WRONLY, 0600) >= 0);`, ""))
	for _, end := range []func(*Worker){
		func(w *Worker) { _ = w.Close() },
		func(w *Worker) { _ = unix.Kill(w.running.pid, unix.SIGKILL); _ = w.Close() },
		func(w *Worker) { _ = w.running.cmd.Process.Kill(); _ = w.Close() },
		func(w *Worker) { w.Renew("") },
	} {
		w := called(t, so)
		if left, _ := os.ReadDir(os.TempDir()); len(left) != 1 {
			t.Errorf("%d folders of one worker", len(left))
		}
		end(w)
		if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
	}
}

func TestLacks(t *testing.T) {
	for version, want := range []int{3, 2, 2, 1, 1, 0, 0, 0} {
		if got := lacks(version); len(got) != want {
			t.Errorf("Landlock %d lacks %q", version, got)
		}
	}
	got, err := Probe(t.Context())
	if err != nil || !got.Seccomp || got.Landlock != landlockVersion() || len(got.Lacks) != len(Lacks()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestLibrariesStartAfresh: a library of the user's own keeps nothing for the next candidate, also where the system cannot unload it, as one
// of C++ whose templates have variables. The runtimes of compilers may stay.
func TestLibrariesStartAfresh(t *testing.T) {
	const count = `int count(void) { static int calls; return ++calls; }`
	const shared = "template <class T> struct counter { static int calls; };\ntemplate <class T> int counter<T>::calls;\n" +
		`extern "C" int count(void) { return ++counter<int>::calls; }`
	const candidate = "int count(void);\nvoid tune_kernel(char *const *args, const void *dims) { args[1][0] = count(); }\n"
	for _, c := range []struct {
		name, ext, library string
		flags              []string
		same               bool // whether the process serves the next candidate too
	}{
		{"one that goes", ".c", count, nil, true},
		{"one that stays", ".c", count, []string{"-Wl,-z,nodelete"}, false},
		{"one of C++ that stays", ".cpp", shared, nil, false},
		{"one with a runtime that may stay", ".c", count, []string{"-fopenmp", "-Wl,--no-as-needed", "-lgomp"}, true},
	} {
		library := compileText(t, c.ext, c.library, c.flags...)
		so := compileText(t, ".c", candidate, library)
		w := start(t, Options{Core: -1})
		mapIsolation(t, w)
		for range 2 {
			if err := w.Load(so); err != nil {
				t.Fatal(err)
			}
			process := w.running.pid
			for want := range byte(3) {
				if err := w.Call(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if got := w.Outputs()[1][0]; got != want+1 {
					t.Errorf("%s: call %d of a candidate that has just been loaded is number %d", c.name, want+1, got)
				}
			}
			if w.Unload(); (w.running != nil && w.running.pid == process) != c.same {
				t.Errorf("%s: the process stays: %v", c.name, !c.same)
			}
		}
	}
}
