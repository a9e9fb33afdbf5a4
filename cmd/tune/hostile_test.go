//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tune/kernels/native/nativetest"
	"tune/results"
)

// hostileMode is a value of a parameter that chooses how a kernel behaves, and the outcome that tune has to find; statuses
// between which chance decides are separated by |.
type hostileMode struct{ name, code, status, reason string }

// sourceModes are the bodies of cases in a function that copies n floats from in to out. Memory is not limited under the
// race detector, which leaves some of them out.
var sourceModes = []hostileMode{
	{"right", "copy(out, in, n);", "ok", ""},
	{"right_too", "for (int i = n; i-- > 0;) out[i] = in[i];", "ok", ""},
	{"wrong", "copy(out, in, n); out[n - 1] += 1;", "wrong answer", ""},
	{"untouched", "", "wrong answer", ""},
	{"no_code", "_Static_assert(MODE != no_code, \"does not compile\");", "compile failed", "does not compile"},
	{"null_pointer", "*(volatile int *)8 = 1;", "crashed", "null pointer"},
	{"aborts", "abort();", "crashed", "aborted"},
	{"illegal", "__builtin_trap();", "crashed", ""},
	{"endless", "for (;;) sink++;", "timeout", "ran past its limit"},
	{"sleeps", "for (;;) pause();", "timeout", "ran past its limit"},
	{"huge", "touch(malloc((size_t)1 << 42), (size_t)1 << 42);", "crashed", "limit on memory"},
	{"eats", "for (;;) touch(malloc(16 << 20), 1);", "crashed", "limit on memory"},
	{"forks", "for (;;) fork();", "crashed", "tried to start a process"},
	{"execs", "execl(\"/bin/true\", \"true\", (char *)0);", "crashed", "tried to run a program"},
	{"system_", "sink = system(\"sleep 1000 &\");", "crashed", "tried to start a process"},
	{"daemon_", "setsid(); fork();", "crashed", "tried to leave its session"},
	{"floods", "for (;;) puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\");", "crashed", "of output"},
	{"exits", "exit(0);", "crashed", "exited with status 0"},
	{"past_output", "copy(out, in, n); ((char *)out)[4 * n] = 1;", "crashed", "past the end of buffer out"},
	{"before_output", "copy(out, in, n); ((char *)out)[-1] = 1;", "crashed", "before the start of buffer out"},
	{"far_past_output", "out[n + 4096] = 1;", "crashed", "past the end of buffer out"},
	{"into_input", "copy(out, in, n); ((float *)in)[0] = 1;", "crashed", "wrote into its input in"},
	{"leaves_thread", "static int left; copy(out, in, n); if (!left++) pthread_create(&thread, 0, wait_for_ever, 0);", "ok", ""},
	{"ends_thread", "pthread_exit(0);", "crashed", ""},
	{"jumps", "jmp_buf env; memset(&env, 0x41, sizeof env); longjmp(env, 1);", "crashed", ""},
	{"recurses", "sink = recurse(0);", "crashed", "stack overflow"},
	{"unmaps", "munmap((void *)((uintptr_t)out & ~4095ul), 4096); out[0] = 1;", "wrong answer", "n=1000: out[0] is 1"}, // it may not unmap what it was given
	{"closes", "for (int fd = 0; fd < 256; fd++) close(fd);", "crashed", "closed the connection"},
	{"kills_parent", "kill(getppid(), SIGKILL);", "crashed", "signal to another process"},
	{"kills_all", "kill(-1, SIGKILL);", "crashed", "signal to another process"},
	{"kills_itself", "raise(SIGKILL);", "crashed", "was killed (SIGKILL)"},
	{"stops_itself", "raise(SIGSTOP);", "crashed", "stopped its own process"},
	{"limits_parent", "struct rlimit l = {1, 1}; prlimit(getppid(), RLIMIT_CPU, &l, 0);", "crashed", "reach into another process"},
	{"traces_parent", "ptrace(PTRACE_ATTACH, getppid(), 0, 0);", "crashed", "reach into another process"},
	{"mounts", "mount(\"none\", \"/nowhere\", \"tmpfs\", 0, 0);", "crashed", "change the system"},
	{"speaks", "for (int fd = 3; fd < 64; fd++) if (write(fd, \"{}\", 2) < 0) continue;", "crashed", "connection with tune"},
	{"divides", "sink = 7 / zero;", "crashed", "division by zero"},
	// What harms the process for those that come next: each is followed by a right one.
	{"damages_heap", "static char *p; copy(out, in, n); if (!p) { p = malloc(5000); sink = (long)malloc(5000); free(p); memset(p, 'A', 16); }", "ok|crashed", ""},
	{"after_heap", "copy(out, in, n); free(malloc(5000));", "ok", ""},
	{"limits_files", "copy(out, in, n); struct rlimit l = {0, 0}; setrlimit(RLIMIT_NOFILE, &l);", "crashed", "limits of its process"},
	{"after_files", "copy(out, in, n); fclose(fopen(\"/proc/self/maps\", \"r\"));", "ok", ""},
	{"limits_memory", "copy(out, in, n); struct rlimit l = {1, 1}; setrlimit(RLIMIT_AS, &l);", "crashed", "limits of its process"},
	{"after_memory", "copy(out, in, n); free(malloc(1 << 20));", "ok", ""},
	{"renames_thread", "static int left; copy(out, in, n); if (!left++) pthread_create(&thread, 0, renamed, 0);", "ok", ""},
	{"after_thread", "copy(out, in, n);", "ok", ""},
	{"sets_timer", "struct itimerval v = {{0, 9000}, {0, 9000}}; copy(out, in, n); setitimer(ITIMER_REAL, &v, 0);", "crashed", "set a timer"},
	{"after_timer", "copy(out, in, n);", "ok", ""},
	{"unmaps_later", "copy(out, in, n); kept = (char *)in;", "ok", ""},
	{"after_unmapping", "copy(out, in, n);", "ok", ""},
	{"signals_tune", "int s[2]; copy(out, in, n); socketpair(AF_UNIX, SOCK_STREAM, 0, s); fcntl(s[0], F_SETOWN, getppid());" +
		" fcntl(s[0], 10, SIGKILL); fcntl(s[0], F_SETFL, O_ASYNC); write(s[1], s, 1);", "crashed", "have signals sent"},
	{"after_signals", "copy(out, in, n);", "ok", ""},
	{"connects", "copy(out, in, n); socket(AF_INET, SOCK_STREAM, 0);", "crashed", "network connection"},
	{"sets_variables", "copy(out, in, n); setenv(\"LEFT\", \"1\", 1);", "ok", ""},
	{"after_variables", "if (!getenv(\"LEFT\")) copy(out, in, n);", "ok", ""},
	{"removes_source", "copy(out, in, n); if (unlink(__FILE__) == 0 || open(__FILE__, O_WRONLY) >= 0) out[0] += 1;", "ok", ""},
}

// commandModes are cases of a shell script that prints a number.
var commandModes = []hostileMode{
	{"right", "echo 3", "ok", ""},
	{"best", "echo 2", "ok", ""},
	{"fails", "echo oops >&2; exit 3", "crashed", "ended with status 3: oops"},
	{"silent", ":", "wrong answer", "printed no number"},
	{"faults", "kill -SEGV $$", "crashed", "signal SIGSEGV"},
	{"kills_itself", "kill -KILL $$", "crashed", "signal SIGKILL"},
	{"endless", endlessCommand, "timeout", "ran past its limit"},
	{"sleeps", "sleep 1000", "timeout", "ran past its limit"},
	{"floods", "yes", "crashed", "of output"},
	{"daemons", "setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.1; echo 4", "ok", ""},
	{"kills_parent", "kill -9 $PPID; sleep 1000", "crashed", "its supervisor was ended by signal SIGKILL"},
	{"ends_parent", "setsid sh -c 'sleep 1000 & setsid sleep 1000' & sleep 0.1; kill $PPID; sleep 1000", "crashed", "its supervisor was ended by signal SIGTERM"},
	{"removes_directory", "echo 1; rm -rf \"$PWD\"", "crashed", "the command removed the directory that it runs in"},
}

// bombModes start processes without end. They have more time than the others, because forking competes with all that runs beside it.
var bombModes = []hostileMode{
	{"right", "echo 3", "ok", ""},
	{"best", "echo 2", "ok", ""},
	// A bomb of a bounded size, in subshells that run no program.
	{"forks", "mkfifo never; i=0; while [ $i -lt 3000 ]; do (read x < never) & i=$((i + 1)); done; wait", "crashed", "started more than 1024 processes at once"},
}

// fastModes is how many of the first of sourceModes are equally fast, so that the final measurement has to choose among them. The other
// right ones take several times as long: a contest of all of them is most of the test, and shows nothing more.
const fastModes = 2

func modeNames(modes []hostileMode) string {
	var names []string
	for _, m := range modes {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

func writeSourceKernel(t *testing.T, dir string) string {
	var cases strings.Builder
	for i, m := range sourceModes {
		code := m.code
		if i >= fastModes && strings.HasPrefix(m.status, "ok") {
			code = "tarry(); " + code
		}
		fmt.Fprintf(&cases, "\tcase %s: {\n\t\t%s\n\t\tbreak;\n\t}\n", m.name, code)
	}
	source := `#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
enum { ` + modeNames(sourceModes) + ` };
static volatile int zero;
static volatile long sink;
static void copy(float *out, const float *in, int n) { memcpy(out, in, 4l * n); }
static void tarry(void) { for (int i = 0; i < 2000; i++) sink++; }
static void *wait_for_ever(void *arg) { for (;;) pause(); }
static void *renamed(void *arg) { prctl(PR_SET_NAME, "other"); for (;;) pause(); }
static char *kept;
__attribute__((destructor)) static void at_end(void)
{
	if (kept)
		munmap((void *)((uintptr_t)kept & ~4095ul), 4096);
}
static void touch(volatile char *p, size_t n)
{
	for (size_t i = 0; i < n; i += 4096)
		p[i] = 1;
}
static int recurse(int depth)
{
	volatile char frame[4096];
	frame[depth % 4096] = (char)depth;
	return recurse(depth + 1) + frame[0];
}
void hostile(float *out, const float *in, int n)
{
	pthread_t thread;
	switch (MODE) {
` + cases.String() + `	}
}
void plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i];
}
`
	write(t, filepath.Join(dir, "hostile.c"), source)
	return write(t, filepath.Join(dir, "source.yaml"), `kernel: {name: hostile, shape: {n: 1000}}
space:
  parameters:
    - {name: MODE, type: enum, values: [`+modeNames(sourceModes)+`]}
source:
  file: hostile.c
  function: hostile
  arguments:
    - {name: out, type: float, length: n, access: write}
    - {name: in, type: float, length: n, access: read, fill: {random: [-1, 1]}}
    - {name: n, type: int, value: n}
  reference: {function: plain, tolerance: exact}
  compilers: [gcc]
  flags: [-O1, -w, -pthread]
  limits: {call: 2s, memory: 64MiB}
run:
  strategy: grid
  evals: `+strconv.Itoa(len(sourceModes))+`
  final: 300ms
`)
}

func writeCommandKernel(t *testing.T, dir, limit string, modes []hostileMode) string {
	var cases strings.Builder
	for _, m := range modes {
		fmt.Fprintf(&cases, "%s) %s;;\n", m.name, m.code)
	}
	write(t, filepath.Join(dir, "mode.sh"), "case {{MODE}} in\n"+cases.String()+"esac\n")
	return write(t, filepath.Join(dir, "command.yaml"), `kernel: {name: hostile-command}
space:
  parameters:
    - {name: MODE, type: enum, values: [`+modeNames(modes)+`]}
command:
  templates: [mode.sh]
  run: . ./mode.sh
  metric: {unit: points, exact: true}
  limits: {run: `+limit+`, output: 64KiB, memory: 256MiB}
run:
  strategy: grid
  evals: `+strconv.Itoa(len(modes))+`
`)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostile: kernels that do whatever a kernel must not are outcomes, each with its status and a reason; tune goes on
// to the best of the right ones, and nothing is left of any of them. After a kill -9 in the middle, nothing is left of
// tune, and a resumed run comes to the same end.
func TestHostile(t *testing.T) { testHostile(t, 2) }

// testHostile kills a run for each of parts, after that part of its outcomes.
func testHostile(t *testing.T, parts ...int) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc: install it to run this test")
	}
	if raceDetector {
		sourceModes = slices.DeleteFunc(sourceModes, func(m hostileMode) bool { return m.reason == "limit on memory" })
	}
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name, config string
		modes        []hostileMode
		exact        bool // so that two runs have the same csv
	}{
		{"source", writeSourceKernel(t, dir), sourceModes, false},
		{"command", writeCommandKernel(t, t.TempDir(), "4s", commandModes), commandModes, true},
		{"bomb", writeCommandKernel(t, t.TempDir(), "60s", bombModes), bombModes, nativetest.Stress}, // a whole run too costs seconds, and shows little more
	} {
		t.Run(c.name, func(t *testing.T) {
			// All that tune starts inherits this.
			mark := "HOSTILE_TEST=" + t.TempDir()
			start := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
				cmd := exec.Command("tune", args...)
				cmd.Env = append(os.Environ(), mark, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "TUNE_FINAL=300ms")
				out := new(bytes.Buffer)
				cmd.Stdout, cmd.Stderr = out, out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return cmd, out
			}
			want := ""
			if c.exact { // else there is nothing to compare a resumed run with
				whole := filepath.Join(t.TempDir(), "whole")
				cmd, out := start("run", "-c", c.config, "--dir", whole, "-q")
				if err := cmd.Wait(); err != nil {
					t.Fatalf("tune: %v\n%s", err, out)
				}
				wantNoneMarked(t, mark)
				want = tuneOK(t, "export", whole, "-f", "csv")
				checkModes(t, c.modes, want)
				checkBest(t, c.modes, whole)
			}
			for i, part := range parts {
				lines := max(2, len(c.modes)/part) // the first one is the header
				run := filepath.Join(t.TempDir(), fmt.Sprint("run", i))
				cmd, out := start("run", "-c", c.config, "--dir", run, "-q")
				if !killRun(cmd, run, lines) {
					t.Fatalf("tune ended before its journal had %d lines:\n%s", lines, out)
				}
				wantNoneMarked(t, mark)
				before := tuneOK(t, "export", run, "-f", "csv")
				cmd, out = start("resume", run, "-q")
				if err := cmd.Wait(); err != nil {
					t.Fatalf("tune resume: %v\n%s", err, out)
				}
				wantNoneMarked(t, mark)
				got := tuneOK(t, "export", run, "-f", "csv")
				checkModes(t, c.modes, got)
				checkBest(t, c.modes, run)
				if c.exact && got != want {
					t.Errorf("the csv of a resumed run differs from that of a whole one:\n%s\n%s", got, want)
				}
				_, rows, _ := strings.Cut(before, "\n")
				for row := range strings.Lines(rows) {
					// Columns come with the first outcome that has metrics.
					if strings.HasPrefix(got, strings.SplitAfterN(before, "\n", 2)[0]) && !strings.Contains(got, row) {
						t.Errorf("what was recorded before the kill is not in the resumed run: %s", row)
					}
				}
			}
		})
	}
}

// killRun kills a run once its journal has so many lines; it reports whether that came before the run's end.
func killRun(cmd *exec.Cmd, dir string, lines int) bool {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		text, _ := os.ReadFile(filepath.Join(dir, results.JournalName)) // There is none at first.
		if bytes.Count(text, []byte("\n")) >= lines {
			_ = cmd.Process.Kill()
			return <-ended != nil
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// checkModes checks the outcome of each mode.
func checkModes(t *testing.T, modes []hostileMode, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	status, mode, reason := slices.Index(rows[0], "status"), slices.Index(rows[0], "MODE"), slices.Index(rows[0], "reason")
	if status < 0 || mode < 0 || reason < 0 || len(rows) != len(modes)+1 {
		t.Fatalf("%d modes, and the csv is\n%s", len(modes), text)
	}
	for _, m := range modes {
		i := slices.IndexFunc(rows, func(row []string) bool { return row[mode] == m.name })
		if i < 0 {
			t.Errorf("%s: no outcome", m.name)
		} else if !slices.Contains(strings.Split(m.status, "|"), rows[i][status]) || !strings.Contains(rows[i][reason], m.reason) {
			t.Errorf("%s: got %s: %s; want %s: %s", m.name, rows[i][status], rows[i][reason], m.status, m.reason)
		}
	}
}

// checkBest checks that a right mode was exported.
func checkBest(t *testing.T, modes []hostileMode, dir string) {
	t.Helper()
	var schedule struct{ Point map[string]any }
	if err := json.Unmarshal([]byte(tuneOK(t, "export", dir)), &schedule); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(modes, func(m hostileMode) bool { return m.status == "ok" && m.name == schedule.Point["MODE"] }) {
		t.Errorf("the best is %v", schedule.Point)
	}
}

// wantNoneMarked wants no process within a second that has the mark in its environment.
func wantNoneMarked(t *testing.T, mark string) {
	t.Helper()
	for end := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
		files, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(mark)) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
				name := filepath.Base(filepath.Dir(f))
				if pid, err := strconv.Atoi(name); err == nil && time.Now().After(end) {
					_ = syscall.Kill(pid, syscall.SIGKILL) // Other tests go on.
				}
				left = append(left, name+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes are left: %s", strings.Join(left, "; "))
			return
		}
	}
}
