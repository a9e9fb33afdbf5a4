package cc

import (
	"context"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// park holds the running compilers, and keeps them from disturbing measurements.
type park struct {
	mu      sync.Mutex
	running map[int]bool // by process id, each the leader of its group
	paused  int
	resumed chan struct{} // closed when the last pause ends; nil while there is none
	warden  warden
}

// exitError is the end of a compiler that failed.
type exitError struct{ err error }

func (e *exitError) Error() string { return e.err.Error() }

// Pause stops all compilers, running ones and new ones, until release is called. It must be short, because their timeouts
// continue to run.
func (t *Toolchain) Pause() (release func()) {
	p := &t.park
	p.mu.Lock()
	if p.paused++; p.paused == 1 {
		p.resumed = make(chan struct{})
		for pid := range p.running {
			signal(pid, syscall.SIGSTOP)
		}
	}
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.paused--; p.paused == 0 {
			for pid := range p.running {
				signal(pid, syscall.SIGCONT)
			}
			close(p.resumed)
			p.resumed = nil
		}
	})
}

// start starts a command under the limits, as soon as no measurement is in progress.
func (p *park) start(ctx context.Context, cmd *exec.Cmd, cpu time.Duration) error {
	for {
		p.mu.Lock()
		resumed := p.resumed
		if resumed == nil {
			break
		}
		p.mu.Unlock()
		select {
		case <-resumed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if p.running == nil {
		p.running = map[int]bool{}
	}
	p.running[cmd.Process.Pid] = true
	p.warden.tell(p.running)
	restrain(cmd.Process.Pid, cpu)
	return nil
}

// run runs a compiler to its end. When ctx is done, the compiler is killed with everything that it started.
func (p *park) run(ctx context.Context, c Compiler, args []string, dir string, messages io.Writer, cpu time.Duration) error {
	cmd := exec.CommandContext(ctx, c.Path, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, environment(dir), messages
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return signal(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	if err := p.start(ctx, cmd, cpu); err != nil {
		return err
	}
	err := cmd.Wait()
	p.mu.Lock()
	delete(p.running, cmd.Process.Pid)
	p.warden.tell(p.running)
	p.mu.Unlock()
	if err != nil {
		return &exitError{err}
	}
	return nil
}
