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
	tally  bool  // whether all of its CPU time counts; see worker.Command
	// show, if not nil, is told what the job has printed, with the point that it belongs to, "" for none.
	show  func(what, stdout, stderr string)
	point string
}

// ended is how a job ended.
type ended struct{ worker.Result }

func (e ended) ok() bool { return e.Code == 0 && e.Signal == "" }

// describe says how a failed command ended, with the last lines that it printed: the very last, which says most, before the others.
func (e ended) describe(what string) string {
	text := what + " ended with status " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		text = what + " was ended by signal " + e.Signal
	}
	if e.Cause != "" {
		text += " (" + e.Cause + ")"
	}
	return text + e.lastWords()
}

// lastWords returns the last lines that a command printed, after a colon; "" where it printed none.
func (e ended) lastWords() string {
	for _, output := range []string{e.Stderr, e.Stdout} {
		if tail := tail(output); tail != "" {
			return ": " + tail
		}
	}
	return ""
}

// tail returns the last line of a text that is not empty, and up to two lines before it.
func tail(text string) string {
	const most, longest = 3, 200
	var lines []string
	for line := range strings.Lines(plain.Text(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, plain.Clip(line, longest))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	last := len(lines) - 1
	before := lines[max(0, len(lines)-most):last]
	if len(before) == 0 {
		return lines[last]
	}
	return lines[last] + " (before it: " + strings.Join(before, " | ") + ")"
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
		Path: path, Args: j.words[1:], Dir: j.dir, Env: j.env, Core: -1, Tally: j.tally,
		Limits: worker.Limits{
			// The wall clock is the main limit; CPU time catches what escapes it, and several threads use it up faster.
			Wall: j.wall, CPU: j.wall*time.Duration(runtime.NumCPU()) + time.Second,
			Memory: j.memory, Output: j.output, File: j.file,
		},
	})
	rejected := kernels.AsRejection(err) // with what was printed before the limit, as far as that is known
	if printed := r.Stdout+r.Stderr != ""; j.show != nil && (err == nil || rejected != nil && printed) {
		what := j.what
		if j.point != "" {
			what += " at " + j.point
		}
		j.show(what, r.Stdout, r.Stderr)
	}
	if rejected != nil {
		return ended{}, kernels.Reject(rejected.Status, "%s %s%s", j.what, rejected.Reason, ended{r}.lastWords())
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ended{}, kernels.Reject(space.Crashed, "%s cannot be run: there is no program %s on the PATH: install it, or write its path", j.what, path)
	case errors.Is(err, fs.ErrNotExist):
		return ended{}, kernels.Reject(space.Crashed, "%s cannot be run: there is no file %s, or it is a script whose first line names no program", j.what, path)
	case errors.Is(err, fs.ErrPermission):
		return ended{}, kernels.Reject(space.Crashed, "%s cannot be run: %s is not marked as a program: 'chmod +x' does that", j.what, path)
	}
	return ended{r}, err
}
