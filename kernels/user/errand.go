package user

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tune/kernels"
	"tune/space"
)

// errands are the commands that run once for all points: setup before the first candidate, and cleanup at the end.
type errands struct {
	mu    sync.Mutex
	begun bool   // whether a command may have run, so that cleanup is due
	done  bool   // whether setup has succeeded
	dir   string // where they run, if candidates have directories of their own; "" before
	made  made   // what is in it after setup
	temp  string // the folder for their temporary files; "" before
}

// SetupError says that the setup command of a kernel failed, so that no candidate can run.
type SetupError struct{ Reason string }

func (e *SetupError) Error() string { return e.Reason }

// begin runs the setup command, unless it has run. It runs again where its directory has gone.
func (p *commandProblem) begin(ctx context.Context) error {
	if p.ready() {
		return nil
	}
	// Who holds the machine may wait for once.mu, and never the other way round.
	release, err := p.host.Alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if p.ready() {
		return nil
	}
	p.once.mu.Lock()
	defer p.once.mu.Unlock()
	return p.setUp(ctx)
}

// ready reports whether candidates may run. From then on cleanup is due.
func (p *commandProblem) ready() bool {
	p.once.mu.Lock()
	defer p.once.mu.Unlock()
	p.once.begun = true
	return p.c.setup == nil || p.once.done && (p.shared() || isDirectory(p.once.dir))
}

// setUp runs the setup command. The caller holds the machine alone, and once.mu.
func (p *commandProblem) setUp(ctx context.Context) error {
	p.once.done = false
	e, err := p.errand(ctx, "command.setup", p.c.setup, p.c.limits.setup)
	switch rejected := kernels.AsRejection(err); {
	case rejected != nil:
		return &SetupError{rejected.Reason}
	case err != nil:
		return err
	case !e.ok():
		return &SetupError{e.describe("command.setup")}
	}
	if !p.shared() {
		if p.once.made, err = survey(p.once.dir); err != nil {
			return err
		}
	}
	p.once.done = true
	return nil
}

// renewSetup puts the directory of the setup command back to what it was after it, as renew does for that of a candidate. The caller
// holds the machine alone.
func (p *commandProblem) renewSetup(ctx context.Context) error {
	if p.c.setup == nil || p.shared() {
		return nil
	}
	p.once.mu.Lock()
	defer p.once.mu.Unlock()
	if p.once.made.restore(p.once.dir) {
		return nil
	}
	if err := os.RemoveAll(p.once.dir); err != nil {
		return err
	}
	return p.setUp(ctx)
}

// finish runs the cleanup command, if any other may have run. The run may have been interrupted, so that it has a context of its
// own.
func (p *commandProblem) finish() error {
	p.once.mu.Lock()
	defer p.once.mu.Unlock()
	if p.c.cleanup == nil || !p.once.begun || !p.own.used() {
		return nil
	}
	p.once.begun, p.once.done = false, false
	e, err := p.errand(context.Background(), "command.cleanup", p.c.cleanup, p.c.limits.cleanup)
	switch rejected := kernels.AsRejection(err); {
	case rejected != nil:
		return errors.New(rejected.Reason)
	case err == nil && !e.ok():
		return errors.New(e.describe("command.cleanup"))
	}
	return err
}

// close runs the cleanup command, and removes the directories of candidates.
func (p *commandProblem) close() error { return errors.Join(p.finish(), p.own.close()) }

// errand runs a command that is no candidate's. The caller holds once.mu.
func (p *commandProblem) errand(ctx context.Context, what string, l *line, wall time.Duration) (ended, error) {
	if err := p.placeErrands(); err != nil {
		return ended{}, err
	}
	values := pointValues(space.Point{}, p.constants)
	values["here"] = space.StringValue(p.here)
	if err := computable(l.words, values); err != nil {
		return ended{}, kernels.Reject(space.Invalid, "%s: %v", what, err)
	}
	limits := p.c.limits
	e, err := job{
		what: what, words: l.expand(values), dir: p.errandDirectory(), env: slices.Concat(os.Environ(), tempEnvironment(p.once.temp), p.setupEnvironment(), p.environment(values)),
		wall: wall, memory: limits.memory, output: limits.output, file: limits.file, show: p.show,
	}.run(ctx)
	if _, serr := os.Stat(p.errandDirectory()); serr != nil && ctx.Err() == nil {
		return ended{}, kernels.Reject(space.Crashed, "%s cannot run: there is no directory %s", what, p.errandDirectory())
	}
	return e, err
}

// errandDirectory returns where the errands run: where all candidates do, or in a directory of their own.
func (p *commandProblem) errandDirectory() string {
	if p.shared() {
		return p.directory()
	}
	return p.once.dir
}

// setupEnvironment returns the environment variable that leads to what the setup command has made.
func (p *commandProblem) setupEnvironment() []string {
	if p.c.setup == nil {
		return nil
	}
	return []string{"TUNE_SETUP=" + p.errandDirectory()}
}

// placeErrands makes the directories of the errands, where they are missing. Theirs has copies of the files that are the same for
// all points.
func (p *commandProblem) placeErrands() error {
	if !isDirectory(p.once.temp) {
		temp, err := p.own.extra("errands")
		if err == nil {
			err = os.MkdirAll(filepath.Join(temp, cacheName), 0o700)
		}
		if err != nil {
			return fmt.Errorf("the temporary files of the kernel: %w", err)
		}
		p.once.temp = temp
	}
	if p.shared() || isDirectory(p.once.dir) {
		return nil
	}
	dir, err := p.own.extra("setup")
	if err != nil {
		return fmt.Errorf("the directory of command.setup: %w", err)
	}
	p.once.dir = dir
	for _, f := range p.c.files {
		if f.fixed {
			if err := f.write(dir, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
