//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// Err returns nil where the command exited with status 0, and otherwise an error that says how it failed, with the last line that
// it printed.
func (r Result) Err() error {
	var text string
	switch {
	case r.Signal != "":
		text = "ended by signal " + r.Signal
	case r.Code != 0:
		text = fmt.Sprintf("exit status %d", r.Code)
	default:
		return nil
	}
	if r.Cause != "" {
		text += " (" + r.Cause + ")"
	}
	if words := lastWords(r.Stderr); words != "" {
		text += ": " + words
	}
	return fmt.Errorf("%s", text)
}

func sh(script string) Command { return Command{Path: "sh", Args: []string{"-c", script}, Core: -1} }

func TestRun(t *testing.T) {
	r, err := Run(t.Context(), sh("echo out; echo oops >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Stdout != "out\n" || r.Stderr != "oops\n" || r.Code != 3 || r.Signal != "" {
		t.Errorf("got %+v", r)
	}
	if got := r.Err(); got == nil || got.Error() != "exit status 3: oops" {
		t.Errorf("got the error %v", got)
	}
	if r, err = Run(t.Context(), sh("kill -SEGV $$")); err != nil || r.Signal != "SIGSEGV" {
		t.Errorf("got %+v, %v", r, err)
	}
	c := sh("pwd; echo $COLOUR")
	c.Dir, c.Env = "/", []string{"COLOUR=blue"}
	if r, err = Run(t.Context(), c); err != nil || r.Stdout != "/\nblue\n" || r.Err() != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := Run(t.Context(), Command{Path: "no-such-program"}); err == nil || kernels.AsRejection(err) != nil {
		t.Errorf("got %v, want an error", err)
	}
}

// TestRunProcs: the supervisor, which schedules on one processor, leaves what the environment says of processors to the command.
func TestRunProcs(t *testing.T) {
	path := "PATH=" + os.Getenv("PATH")
	for _, c := range []struct {
		env  []string
		want string
	}{{[]string{path}, "unset"}, {[]string{path, "GOMAXPROCS="}, ""}, {[]string{"GOMAXPROCS=3", path}, "3"}, {[]string{"GOMAXPROCS=3", path, "GOMAXPROCS=5"}, "5"}} {
		command := sh("echo ${GOMAXPROCS-unset}; tr '\\0' '\\n' </proc/$PPID/environ | grep ^GOMAXPROCS")
		command.Env = c.env
		if r, err := Run(t.Context(), command); err != nil || r.Stdout != c.want+"\nGOMAXPROCS=1\n" {
			t.Errorf("of %q the command prints %q, %v", c.env, r.Stdout, err)
		}
	}
	command := sh("echo $PWD")
	command.Dir = t.TempDir()
	if r, err := Run(t.Context(), command); err != nil || r.Stdout != command.Dir+"\n" {
		t.Errorf("in %s the command is told %q, %v", command.Dir, r.Stdout, err)
	}
}

func TestRunLimits(t *testing.T) {
	for _, c := range []struct {
		name, script string
		limits       Limits
		status       space.Status // OK where the command itself fails
		reason       string
	}{
		{"time", "echo begun; sleep 60", Limits{Wall: 100 * time.Millisecond}, space.Timeout, "ran past its limit of 100ms"},
		{"CPU time", "while :; do :; done", Limits{CPU: time.Second}, space.Timeout, "ran past its limit of 1s of CPU time"},
		{"output", "yes", Limits{Output: 10 << 10}, space.Crashed, "wrote more than 10 KiB of output"},
		{"file", "head -c 100000 /dev/zero > $TMPDIR/large", Limits{File: 1 << 10}, space.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := sh(c.script)
			command.Limits = c.limits
			command.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			r, err := Run(t.Context(), command)
			// On a busy machine the program may be stopped before it has printed: then it gets longer, as far as ten seconds.
			for c.name == "time" && err != nil && r.Stdout == "" && command.Limits.Wall < 10*time.Second {
				command.Limits.Wall *= 10
				c.reason = "ran past its limit of " + durationText(command.Limits.Wall)
				r, err = Run(t.Context(), command)
			}
			if c.status == space.OK {
				if err != nil || r.Err() == nil {
					t.Errorf("got %+v, %v; want a command that fails", r, err)
				}
			} else if rejection := kernels.AsRejection(err); rejection == nil || rejection.Status != c.status || rejection.Reason != c.reason {
				t.Errorf("got %v, want %v: %s", err, c.status, c.reason)
			} else if c.name == "time" && r.Stdout != "begun\n" {
				t.Errorf("it had printed %q", r.Stdout)
			}
		})
	}
}

// Daemons in sessions of their own, their children, and a command that ignores signals: none is left.
func TestRunLeavesNoProcess(t *testing.T) {
	r, err := Run(t.Context(), sh("setsid sh -c 'trap \"\" TERM HUP; echo $$; sleep 1000 & sleep 1000' & setsid sh -c '(echo $$; sleep 1000)' & sleep 0.2"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(r.Stdout)
	if len(fields) != 2 {
		t.Fatalf("got %q", r.Stdout)
	}
	for _, f := range fields {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		wantGone(t, pid)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, sh("setsid sleep 1000 & setsid sleep 1000")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if left := descendants(os.Getpid(), processes(), nil); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A fork bomb of processes that leave their group.
func TestRunEndsForkBombs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, sh("bomb() { sleep 0.02; bomb & bomb; }; bomb & setsid sh -c 'while :; do sleep 1000 & sleep 0.01; done'")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	wantNoneLeft(t)
}

func wantNoneLeft(t *testing.T) {
	t.Helper()
	if left := descendants(os.Getpid(), processes(), nil); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// compileProgram compiles a program, and returns its path.
func compileProgram(t *testing.T, text string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc: install it to run this test")
	}
	source := filepath.Join(t.TempDir(), "p.c")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := strings.TrimSuffix(source, ".c")
	if out, err := exec.Command("gcc", "-w", "-O1", "-pthread", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func wantRejection(t *testing.T, err error, status space.Status, reason string) {
	t.Helper()
	if r := kernels.AsRejection(err); r == nil || r.Status != status || !strings.Contains(r.Reason, reason) {
		t.Errorf("got %v, want %v: %s", err, status, reason)
	}
}

// A command that starts more than a program has a use for is ended at once, whatever groups and sessions its processes
// are in. The bomb here is bounded, so that the machine survives a failure.
func TestRunCountsProcesses(t *testing.T) {
	bomb := compileProgram(t, `
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 3000; i++)
		switch (fork()) {
		case -1:
			return 1;
		case 0:
			if (argv[1][0] == 's')
				setsid();
			if (argv[1][0] == 'g')
				setpgid(0, 0);
			if (argv[1][0] == 'z')
				_exit(0);
			sleep(30);
			_exit(0);
		}
	sleep(30);
}`)
	for _, kind := range []string{"one group", "groups", "sessions", "zombies"} {
		t.Run(kind, func(t *testing.T) {
			begin := time.Now()
			_, err := Run(t.Context(), Command{Path: bomb, Args: []string{kind}, Core: -1, Limits: Limits{Wall: 20 * time.Second}})
			wantRejection(t, err, space.Crashed, "started more than 1024 processes at once")
			t.Logf("%v after %v", err, time.Since(begin))
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			wantNoneLeft(t)
		})
	}
}

// A command may kill its supervisor, and leave that one's session: it is the one to suffer for it.
func TestRunSurvivesTheEndOfASupervisor(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "pids")
	for _, c := range []struct {
		name, script, reason string
		status               space.Status
	}{
		{"killed", "kill -9 $PPID; sleep 1000", "its supervisor was ended by signal SIGKILL", space.Crashed},
		{"terminated", "kill $PPID; sleep 1000", "its supervisor was ended by signal SIGTERM", space.Crashed},
		{"with processes elsewhere", "parent=$PPID; setsid sh -c 'echo $$ >>" + marker + "; (echo $$; sleep 1000) & setsid sleep 1000 & sleep 1000' & sleep 0.2; setsid sh -c \"kill -9 $parent; sleep 1000\" & sleep 1000", "its supervisor was ended by signal SIGKILL", space.Crashed},
		{"stopped", "kill -STOP $PPID; setsid sleep 1000 & sleep 1000", "ran past its limit of 1s", space.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Another command goes on meanwhile.
			other := make(chan error)
			go func() {
				r, err := Run(t.Context(), sh("setsid sleep 0.5 & sleep 0.5; wait"))
				other <- errors.Join(err, r.Err())
			}()
			command := sh(c.script)
			command.Limits.Wall = time.Second
			_, err := Run(t.Context(), command)
			wantRejection(t, err, c.status, c.reason)
			if err := <-other; err != nil {
				t.Errorf("another command: %v", err)
			}
			wantNoneLeft(t)
			text, _ := os.ReadFile(marker)
			for _, pid := range strings.Fields(string(text)) {
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(err)
				}
				wantGone(t, n)
			}
		})
	}
}

// A command may signal its own processes and others, and not tune, where this user may see to that.
func TestRunShieldsTune(t *testing.T) {
	var have [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0]); err != nil || have[0].Effective>>unix.CAP_SYS_ADMIN&1 == 0 {
		t.Skip("only root may hold commands without keeping them from becoming another user")
	}
	other := exec.Command("sleep", "100")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, c := range []struct {
		target string
		may    bool
	}{
		{strconv.Itoa(os.Getpid()), false}, {"-1", false}, {strconv.Itoa(-unix.Getpgrp()), false},
		{strconv.Itoa(other.Process.Pid), true}, {"$$", true}, {"0", true},
	} {
		// Signal 0 harms nobody, whoever may send it.
		r, err := Run(t.Context(), sh("kill -s 0 -- "+c.target))
		if err != nil || (r.Code == 0) != c.may {
			t.Errorf("a signal to %s: got %+v, %v", c.target, r, err)
		}
	}
	if r, err := Run(t.Context(), sh("sleep 100 & kill $!; wait $!; test $? = 143")); err != nil || r.Err() != nil {
		t.Errorf("a signal to its own process: %+v, %v", r, err)
	}
}

// What this process has started itself is not touched when a supervisor dies.
func TestRunLeavesOthersAlone(t *testing.T) {
	mine := exec.Command("sleep", "1000")
	if err := mine.Start(); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), sh("kill -9 $PPID; sleep 1000"))
	wantRejection(t, err, space.Crashed, "SIGKILL")
	if err := mine.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that is none of the command's: %v", err)
	}
	_ = mine.Process.Kill()
	if err := mine.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
}

// A command that takes all memory comes to its limit, and the reason says so; where the system has to choose, it chooses
// the command.
func TestRunBoundsMemory(t *testing.T) {
	if raceDetector {
		t.Skip("memory is not limited under the race detector")
	}
	eater := compileProgram(t, `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	for (;;) {
		char *p = malloc(1 << 20);
		if (!p) {
			fprintf(stderr, "no memory\n");
			return 1;
		}
		memset(p, 1, 1 << 20);
	}
}`)
	r, err := Run(t.Context(), Command{Path: eater, Core: -1, Limits: Limits{Memory: 128 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Err(); got == nil || !strings.HasPrefix(got.Error(), "exit status 1 (its memory had grown to 1") || !strings.HasSuffix(got.Error(), " MiB, and the limit is 128 MiB): no memory") {
		t.Errorf("got %v", got)
	}
	r, err = Run(t.Context(), sh("cat /proc/self/oom_score_adj"))
	if err != nil || r.Stdout != "1000\n" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if r, err := Run(context.Background(), Command{Path: "true", Core: -1}); err != nil || r.Err() != nil {
			b.Fatal(r, err)
		}
	}
}

// A command is held to the same limits whether or not its supervisor may trace it, which spares a process of tune's; it is traced by nobody.
func TestRunUntraced(t *testing.T) {
	c := sh(`ulimit -c; ulimit -f; ulimit -t; cat /proc/self/oom_score_adj; grep -e TracerPid -e Cpus_allowed_list /proc/self/status`)
	var cores unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cores); err != nil {
		t.Fatal(err)
	}
	for c.Core = 0; !cores.IsSet(c.Core); c.Core++ {
	}
	c.Limits = Limits{CPU: 7 * time.Second, File: 1 << 20}
	want := fmt.Sprintf("0\n2048\n7\n1000\nTracerPid:\t0\nCpus_allowed_list:\t%d\n", c.Core)
	reap := func(pid int) (status unix.WaitStatus) {
		for {
			if _, err := unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
				return status
			}
		}
	}
	o := order{Path: "/bin/sh", Command: []string{"sh", "-c", "exit 5"}, Core: -1, Limits: Limits{CPU: time.Minute, Memory: 1 << 30}}
	attr := syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true}}
	for _, may := range []bool{true, false} {
		var r Result
		var err, failed error
		var pid int
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // which ends with this goroutine
			if !may {
				if failed = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); failed != nil {
					return
				}
				if _, errno := setFilter(assemble(refuse(unix.EPERM, unix.SYS_PTRACE), seccompAllow), 0); errno != 0 {
					failed = errno
					return
				}
			}
			if pid, _, err = startLimited(o, attr); err == nil {
				if s := reap(pid); s.ExitStatus() != 5 {
					t.Errorf("a command that is traced at its start ends with %+v", s)
				}
			}
			r, failed = Run(t.Context(), c)
		}()
		<-done
		if failed != nil {
			t.Fatalf("with tracing %v: %v", may, failed)
		}
		if (err == nil) != may {
			t.Errorf("with tracing %v a command is started, process %d, with the error %v", may, pid, err)
		}
		if r.Stdout != want || r.Stderr != "" || r.Err() != nil {
			t.Errorf("with tracing %v got %+v, want %q", may, r, want)
		}
	}
}

// forgetfulC has a child work of which the system forgets everything at its end.
const forgetfulC = `#include <signal.h>
#include <time.h>
#include <unistd.h>
int main(void) {
	struct timespec t;
	signal(SIGCHLD, SIG_IGN);
	int child = fork();
	if (child == 0) {
		do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_nsec < 300000000);
		return 0;
	}
	while (kill(child, 0) == 0) usleep(10000);
	return 0;
}
`

// TestTally: the CPU time of a command has that of children whose end nobody waits for, where the system adds it up.
func TestTally(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "forgetful.c"), filepath.Join(dir, "forgetful")
	if err := os.WriteFile(source, []byte(forgetfulC), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("needs gcc: %v: %s", err, out)
	}
	fd := startTally(os.Getpid())
	if fd < 0 {
		t.Skip("this system does not count the CPU time of processes")
	}
	_ = unix.Close(fd)
	for _, tally := range []bool{true, false} {
		r, err := Run(t.Context(), Command{Path: program, Core: -1, Tally: tally})
		if err != nil || r.Code != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if has := r.CPU >= 300*time.Millisecond; has != tally || tally && r.CPU > 600*time.Millisecond {
			t.Errorf("with a tally %v: %v of CPU time, of which the child took 300ms", tally, r.CPU)
		}
	}
}

// The system gives programs such as sudo their rights only where nobody traces them, and so their scripts.
func TestPrivileged(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want bool
	}{
		"plain":      {"\x7fELF", 0o755, false},
		"empty":      {"", 0o755, false},
		"setuid":     {"\x7fELF", 0o755 | os.ModeSetuid, true},
		"setgid":     {"\x7fELF", 0o755 | os.ModeSetgid, true},
		"script":     {"#! " + at("plain") + " -e\n", 0o755, false},
		"by another": {"#!" + at("script") + "\n", 0o755, false},
		"of setuid":  {"#!" + at("setuid") + " -n sh\n", 0o755, true},
		"of nothing": {"#!" + at("none") + "\n", 0o755, true},
		"of itself":  {"#!" + at("of_itself") + "\n", 0o755, true},
		"no name":    {"#!\n", 0o755, false},
	} {
		path := at(strings.ReplaceAll(name, " ", "_"))
		if err := os.WriteFile(path, []byte(c.text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if got := privileged(path); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}()
	}
	if !privileged(at("missing")) {
		t.Error("what is not there")
	}
}
