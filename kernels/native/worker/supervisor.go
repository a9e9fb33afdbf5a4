//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// IsChild reports whether this process was started as a part of a worker. If it was, Main must be called before
// anything else is done.
func IsChild() bool {
	return len(os.Args) == 2 && (os.Args[0] == supervisorName || os.Args[0] == workerName || os.Args[0] == limiterName)
}

// Main runs the part that this process was started for, and does not return. Children leave by the system call itself:
// nothing of theirs needs an orderly end, and the race detector would delay it.
func Main() {
	var o order
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		fmt.Fprintln(os.Stderr, "tune: a worker's order is malformed:", err)
		unix.Exit(1)
	}
	switch os.Args[0] {
	case supervisorName:
		supervise(o)
	case workerName:
		serve(o)
	case limiterName:
		limit(o)
	}
	unix.Exit(0)
}

// killPatience bounds the killing of what cannot be killed.
const killPatience = 5 * time.Second

// supervise starts the ordered process, waits for its end or for that of the lifeline, kills every process that
// descends from this one, and reports.
func supervise(o order) {
	tell := func(n news) {
		text, err := json.Marshal(n)
		if err == nil {
			_, _ = unix.Write(lifelineFD, text) // Where tune is gone nobody reads it.
		}
	}
	fail := func(err error) {
		tell(news{Error: err.Error()})
		unix.Exit(1)
	}
	// Signals that reach the whole terminal are tune's to handle. They are caught rather than ignored, because
	// the started process would inherit the latter.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT)
	for _, fd := range []int{lifelineFD, controlFD, faultFD} {
		unix.CloseOnExec(fd)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fail(fmt.Errorf("becoming a subreaper: %w", err))
	}

	path, argv := "/proc/self/exe", []string{workerName, os.Args[1]}
	files := []uintptr{0, 1, 2, controlFD, faultFD}
	if o.Command != nil {
		argv = []string{limiterName, os.Args[1]}
		files = files[:3]
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: files,
		// The worker dies with the main thread, so that a supervisor killed by someone else leaves nothing
		// behind either.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		fail(fmt.Errorf("starting a worker: %w", err))
	}
	// From here on only the worker holds its ends of the pipes and of the socket: their end is its end.
	if o.Command == nil {
		_ = unix.Close(controlFD)
		_ = unix.Close(faultFD)
	}
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	tell(news{PID: pid})

	var killing atomic.Bool
	go func() {
		var buf [16]byte
		for {
			n, err := unix.Read(lifelineFD, buf[:])
			if err == unix.EINTR || err == nil && n > 0 {
				continue
			}
			break
		}
		killing.Store(true)
		killDescendants(pid)
		time.Sleep(killPatience)
		unix.Exit(1)
	}()

	result := news{Ended: true}
	var usage unix.Rusage
	for {
		var status unix.WaitStatus
		child, err := unix.Wait4(-1, &status, 0, &usage)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			break // There is no child left: whatever descended from the worker has been reaped here.
		}
		result.User += usage.Utime.Nano()
		result.System += usage.Stime.Nano()
		if child == pid {
			result.Code, result.Signal = status.ExitStatus(), 0
			if status.Signaled() {
				result.Code, result.Signal = 0, int(status.Signal())
			}
			if !killing.Swap(true) {
				killDescendants(pid)
				go func() {
					time.Sleep(killPatience)
					unix.Exit(1)
				}()
			}
			continue
		}
		if killing.Load() {
			killDescendants(pid)
		}
	}
	tell(result)
	unix.Exit(0)
}

// killDescendants kills the group of the worker, and every process that descends from this one. One round may
// miss a process that is just being started; the caller begins another one with each process that it reaps,
// until none is left.
func killDescendants(group int) {
	_ = unix.Kill(-group, unix.SIGKILL)
	parents := processes()
	self := os.Getpid()
	for pid := range parents {
		// An ID may be used again between reading and killing, but only once its process was reaped, which
		// for our own descendants is done here or by one of them.
		for up, steps := pid, 0; up > 1 && steps < len(parents); steps++ {
			up = parents[up]
			if up == self {
				_ = unix.Kill(pid, unix.SIGKILL)
				break
			}
		}
	}
}

// processes returns the parent of each process that /proc shows.
func processes() map[int]int {
	parents := map[int]int{}
	dir, err := os.Open("/proc")
	if err != nil {
		return parents
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if _, ppid, ok := processState("/proc/" + name + "/stat"); ok {
			parents[pid] = ppid
		}
	}
	return parents
}

// processState reads the state and the parent of a process or thread from its stat file.
func processState(path string) (state byte, parent int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, false
	}
	// The name, in parentheses, may hold anything.
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 2 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0][0], parent, err == nil
}

// limit takes on the limits of a command and becomes it.
func limit(o order) {
	die := func(err error) {
		fmt.Fprintln(os.Stderr, "tune:", err)
		unix.Exit(126)
	}
	if o.Core >= 0 {
		if err := pin(o.Core); err != nil {
			die(err)
		}
	}
	if err := setLimits(o.Limits); err != nil {
		die(err)
	}
	// Each of its processes counts alone.
	seconds := uint64((o.Limits.CPU + time.Second - 1) / time.Second)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 2}); err != nil {
		die(fmt.Errorf("limiting CPU time: %w", err))
	}
	if !raceDetector {
		// Many programs reserve much more address space than they use.
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(o.Limits.Memory), Max: uint64(o.Limits.Memory)}); err != nil {
			die(fmt.Errorf("limiting memory: %w", err))
		}
	}
	die(fmt.Errorf("running %s: %w", o.Path, syscall.Exec(o.Path, o.Command, os.Environ())))
}

// setLimits sets the limits that never change.
func setLimits(l Limits) error {
	for _, v := range []struct {
		name     string
		resource int
		most     int64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, l.File},
	} {
		if err := unix.Setrlimit(v.resource, &unix.Rlimit{Cur: uint64(v.most), Max: uint64(v.most)}); err != nil {
			return fmt.Errorf("limiting %s: %w", v.name, err)
		}
	}
	return nil
}

// pin binds the calling thread to a core.
func pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to core %d: %w", core, err)
	}
	return nil
}
