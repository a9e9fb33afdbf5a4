package user

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// job is one command to run. A supervisor process ends it, with everything that it has started, when its time is up and when tune
// dies.
type job struct {
	what   string // for messages: "the build"
	words  []string
	dir    string
	env    []string
	wall   time.Duration
	memory int64 // bytes of private memory of each process
	output int64 // bytes that it may print
	file   int64 // bytes of the largest file
}

// ended is how a job ended.
type ended struct{ worker.Result }

func (e ended) ok() bool { return e.Code == 0 && e.Signal == "" }

// describe says how a failed command ended, with the last line that it printed.
func (e ended) describe(what string) string {
	text := what + " ended with status " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		text = what + " was ended by signal " + e.Signal
	}
	if e.Cause != "" {
		text += " (" + e.Cause + ")"
	}
	for _, output := range []string{e.Stderr, e.Stdout} {
		if last := lastLine(output); last != "" {
			return text + ": " + last
		}
	}
	return text
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(plain.Text(text)), "\n")
	const longest = 200
	return plain.Clip(strings.TrimSpace(lines[len(lines)-1]), longest)
}

// run runs the job. One that exceeds a limit, or has no program, is a *kernels.Rejection.
func (j job) run(ctx context.Context) (ended, error) {
	if len(j.words) == 0 {
		return ended{}, kernels.Reject(space.Invalid, "%s is empty at this point: every word of it names an inactive parameter", j.what)
	}
	path := j.words[0]
	if strings.ContainsRune(path, '/') && !filepath.IsAbs(path) {
		path = filepath.Join(j.dir, path) // relative to where it runs
	}
	r, err := worker.Run(ctx, worker.Command{
		Path: path, Args: j.words[1:], Dir: j.dir, Env: j.env, Core: -1,
		Limits: worker.Limits{
			// The wall clock is the main limit; CPU time catches what escapes it, and several threads use it up faster.
			Wall: j.wall, CPU: j.wall*time.Duration(runtime.NumCPU()) + time.Second,
			Memory: j.memory, Output: j.output, File: j.file,
		},
	})
	if rejected := kernels.AsRejection(err); rejected != nil {
		return ended{}, kernels.Reject(rejected.Status, "%s %s", j.what, rejected.Reason)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return ended{}, kernels.Reject(space.Crashed, "%s cannot be run: %v", j.what, err)
	}
	return ended{r}, err
}
