//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

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

func TestRunLimits(t *testing.T) {
	for _, c := range []struct {
		name, script string
		limits       Limits
		status       space.Status // OK where the command itself fails
		reason       string
	}{
		{"time", "sleep 60", Limits{Wall: 100 * time.Millisecond}, space.Timeout, "ran past its limit of 100ms"},
		{"CPU time", "while :; do :; done", Limits{CPU: time.Second}, space.Timeout, "ran past its limit of 1s of CPU time"},
		{"output", "yes", Limits{Output: 10 << 10}, space.Crashed, "wrote more than 10 KiB of output"},
		{"file", "head -c 100000 /dev/zero > $TMPDIR/large", Limits{File: 1 << 10}, space.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := sh(c.script)
			command.Limits = c.limits
			command.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			r, err := Run(t.Context(), command)
			if c.status == space.OK {
				if err != nil || r.Err() == nil {
					t.Errorf("got %+v, %v; want a command that fails", r, err)
				}
			} else if rejection := kernels.AsRejection(err); rejection == nil || rejection.Status != c.status || rejection.Reason != c.reason {
				t.Errorf("got %v, want %v: %s", err, c.status, c.reason)
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
	if left := descendants(os.Getpid()); len(left) > 0 {
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
	if left := descendants(os.Getpid()); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if r, err := Run(context.Background(), Command{Path: "true", Core: -1}); err != nil || r.Err() != nil {
			b.Fatal(r, err)
		}
	}
}
