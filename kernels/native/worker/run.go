//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// Run runs a command and waits for its end and that of all that it started. A command that exceeds a limit is a
// *kernels.Rejection; one that fails in another way is a Result that says so. Other errors mean that it could not be
// started.
func Run(ctx context.Context, c Command) (Result, error) {
	if IsChild() {
		return Result{}, errNoWorker
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if err := c.Limits.Validate(); err != nil {
		return Result{}, err
	}
	limits := c.Limits.orElse(DefaultCommandLimits())
	path, err := exec.LookPath(c.Path)
	if err != nil {
		return Result{}, err
	}
	if c.Dir != "" {
		// A relative path was looked up here, and is executed there.
		if path, err = filepath.Abs(path); err != nil {
			return Result{}, err
		}
	}
	out, err := newOutput(limits.Output)
	if err != nil {
		return Result{}, err
	}
	begin := time.Now()
	o := order{Limits: limits, Core: c.Core, Path: path, Command: append([]string{c.Path}, c.Args...)}
	p, err := startProcess("", o, c.Env, c.Dir, nil, out)
	if err != nil {
		out.discard()
		return Result{}, err
	}
	defer p.kill()
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
			return Result{}, kernels.Reject(space.Timeout, "ran past its limit of %s", durationText(limits.Wall))
		case <-poll.C:
		}
		if out.flooded() {
			return Result{}, kernels.Reject(space.Crashed, "wrote more than %s of output", bytesText(limits.Output))
		}
	}
	if p.failure != nil {
		return Result{}, fmt.Errorf("running %s: %w", c.Path, p.failure)
	}
	r := Result{Code: p.result.Code, Wall: time.Since(begin), CPU: time.Duration(p.result.User + p.result.System)}
	r.Stdout, r.Stderr = out.texts()
	if s := unix.Signal(p.result.Signal); s != 0 {
		r.Signal = unix.SignalName(s)
		if s == unix.SIGXCPU {
			return r, kernels.Reject(space.Timeout, "ran past its limit of %s of CPU time", durationText(limits.CPU))
		}
	}
	return r, nil
}
