//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tune/internal/files"
	"tune/kernels"
	"tune/space"
)

// Run runs a command and waits until it and everything that it started have ended. For a command that exceeds a limit the error
// is a *kernels.Rejection, and the Result has what it had printed; one that fails in another way has a Result that says so. Other
// errors mean that the command could not be started.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := c.Limits.Validate(); err != nil {
		return Result{}, err
	}
	limits := c.Limits.orElse(commandLimits())
	path, err := exec.LookPath(c.Path)
	if err != nil {
		return Result{}, err
	}
	if c.Dir != "" {
		// A relative path is looked up in tune's directory, but the command runs in another one.
		if path, err = filepath.Abs(path); err != nil {
			return Result{}, err
		}
	}
	out, err := newOutput(limits.Output)
	if err != nil {
		return Result{}, err
	}
	if err := supervisors.adopt(); err != nil {
		return Result{}, err
	}
	begin := time.Now()
	o := order{Limits: limits, Core: c.Core, Path: path, Command: append([]string{c.Path}, c.Args...), Tally: c.Tally}
	p, err := startProcess("", o, c.Env, c.Dir, nil, out)
	if err != nil {
		out.discard()
		return Result{}, err
	}
	defer p.kill()
	printed := func() (r Result) {
		p.kill()
		r.Stdout, r.Stderr = out.texts()
		return r
	}
	timeout := time.NewTimer(limits.Wall)
	defer timeout.Stop()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for running := true; running; {
		select {
		case <-p.ended:
			running = false
		case <-ctx.Done():
			return Result{}, ctx.Err()
		case <-timeout.C:
			return printed(), kernels.Reject(space.Timeout, "ran past its limit of %s", durationText(limits.Wall))
		case <-poll.C:
		}
		if out.flooded() {
			return printed(), kernels.Reject(space.Crashed, "wrote more than %s of output", files.Size(limits.Output))
		}
	}
	switch {
	case p.failure != nil && (p.killed || p.pid != 0):
		return Result{}, kernels.Reject(space.Crashed, "was ended with all that it had started, because %v: it may have killed it", p.failure)
	case p.failure != nil:
		return Result{}, fmt.Errorf("running %s: %w", c.Path, p.failure)
	case p.result.Excess != "":
		return printed(), kernels.Reject(space.Crashed, "%s", p.result.Excess)
	}
	r := Result{Code: p.result.Code, Wall: time.Since(begin), CPU: time.Duration(max(p.result.User+p.result.System, p.result.Tally))}
	r.Stdout, r.Stderr = out.texts()
	s := unix.Signal(p.result.Signal)
	if s != 0 {
		r.Signal = unix.SignalName(s)
	}
	if s == unix.SIGXCPU {
		return r, kernels.Reject(space.Timeout, "ran past its limit of %s of CPU time", durationText(limits.CPU))
	}
	if r.Code != 0 || s != 0 {
		r.Cause = p.want(limits.Memory)
	}
	return r, nil
}

// want returns a known lack of memory that may have made a process fail, "" for none.
func (p *process) want(limit int64) string {
	// A program that is refused memory has usually used nearly all that it may.
	const nearly = 0.85
	switch {
	case float64(p.result.Peak) > nearly*float64(limit):
		return fmt.Sprintf("its memory had grown to %s, and the limit is %s", files.Size(p.result.Peak>>20<<20), files.Size(limit))
	case unix.Signal(p.result.Signal) == unix.SIGKILL && p.oomKills >= 0 && oomKills() > p.oomKills:
		return "the system had run out of memory"
	}
	return ""
}
