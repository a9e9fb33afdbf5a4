//go:build linux && (amd64 || arm64)

package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

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

// How often a supervisor looks: at what a command has started; whether a process ended, where the system cannot tell;
// and whether those that it killed are gone.
const (
	watchInterval = 25 * time.Millisecond
	askInterval   = 2 * time.Millisecond
	killInterval  = time.Millisecond
)

// supervisor is the state of a supervisor process. It is one loop on one thread: when a fork bomb has taken all that
// the system has, it still can do its part.
type supervisor struct {
	order   order
	pid     int // of the worker or command, which leads its group
	pidfd   int // -1 where the system has none, and once the process was reaped
	census  census
	result  news
	began   time.Time // of the killing; zero before
	scanned time.Time // when all descendants were last looked for; zero before
	fresh   bool      // something was reaped since
}

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
	// Collections and cores would need threads, and there is next to no garbage.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
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
		spareThreads(spares)
	} else {
		dropCapabilities()
		if !o.Open {
			o.Landlock = enclose(o.Scratch)
		}
		text, err := json.Marshal(o)
		if err != nil {
			fail(err)
		}
		argv[1] = string(text)
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
	if o.Command == nil {
		elsewhere(func() { sacrifice(pid) })
	}
	tell(news{PID: pid})
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
	s := supervisor{order: o, pid: pid, result: news{Ended: true}}
	if s.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		s.pidfd = -1
	}
	for s.reap() {
		if s.began.IsZero() {
			s.watch()
		} else if !s.kill() {
			fail(fmt.Errorf("processes of it could not be ended within %s", killPatience))
		}
	}
	if o.Scratch != "" {
		elsewhere(func() { _ = os.RemoveAll(o.Scratch) }) // Tune does it again where it still lives.
	}
	tell(s.result)
	unix.Exit(0)
}

// elsewhere calls f on another thread. The main one, which main goroutines of children never leave, has made itself
// unable to change files; its Landlock domain does not hold the others.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// watch waits for what ends the process: itself, tune, or the number of processes that it has started.
func (s *supervisor) watch() {
	wait := -1
	switch {
	case s.pidfd < 0:
		wait = int(askInterval / time.Millisecond)
	case s.order.Command != nil:
		wait = int(watchInterval / time.Millisecond)
	}
	fds := []unix.PollFd{{Fd: lifelineFD, Events: unix.POLLIN}, {Fd: int32(s.pidfd), Events: unix.POLLIN}}
	_, _ = unix.Poll(fds, wait)
	if fds[0].Revents != 0 {
		var buf [16]byte
		if n, err := unix.Read(lifelineFD, buf[:]); n == 0 || err != nil && err != unix.EINTR {
			s.beginKilling()
			return
		}
	}
	if s.order.Command == nil {
		return // A worker's filter lets it start nothing.
	}
	if s.result.Excess = s.census.excess(); s.result.Excess != "" {
		s.beginKilling()
	}
}

// beginKilling ends the process and its group. The system does that at one blow: no member gets away by forking.
func (s *supervisor) beginKilling() {
	if s.began.IsZero() {
		s.began = time.Now()
		_ = unix.Kill(-s.pid, unix.SIGKILL)
	}
}

// kill does one round of killing. It reports false where that has gone on for too long.
func (s *supervisor) kill() bool {
	now := time.Now()
	switch {
	case s.scanned.IsZero() && s.pidfd >= 0 && now.Sub(s.began) < askInterval:
		// In most cases the group was all, and nothing has to be looked for.
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}, int(askInterval/time.Millisecond))
		return true
	case s.scanned.IsZero() || s.fresh || now.Sub(s.scanned) > watchInterval:
		// A round may miss a process that is just being started. Its parent was seen and killed, so that this process
		// inherits it before it can reap the parent, and then there is another round.
		s.scanned, s.fresh = now, false
		killDescendants()
	}
	_, _ = unix.Poll(nil, int(killInterval/time.Millisecond))
	return now.Sub(s.began) < killPatience
}

// reap takes the processes that have ended, and reports whether there are others.
func (s *supervisor) reap() bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false // There is no child left: whatever descended from the worker has been reaped here.
		}
		// The first word after those that every signal has is the sender, at an offset of 16.
		child := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 16)))
		if child == 0 {
			return true
		}
		if child == s.pid {
			s.beginKilling() // As long as it was not reaped, nobody else's group can have its number.
		}
		var status unix.WaitStatus
		var usage unix.Rusage
		if _, err := unix.Wait4(child, &status, 0, &usage); err != nil {
			continue
		}
		s.fresh = true
		s.result.User += usage.Utime.Nano()
		s.result.System += usage.Stime.Nano()
		s.result.Peak = max(s.result.Peak, usage.Maxrss<<10)
		if child != s.pid {
			continue
		}
		if s.result.Code = status.ExitStatus(); status.Signaled() {
			s.result.Code, s.result.Signal = 0, int(status.Signal())
		}
		if s.pidfd >= 0 {
			_ = unix.Close(s.pidfd)
			s.pidfd = -1
		}
	}
}

// spares is how many threads a supervisor has in store: more than its runtime is ever seen to use.
const spares = 6

// spareThreads makes the Go runtime start n threads and keep them. It would end the process where it needs another one
// and the system has none, which is what a fork bomb brings about.
func spareThreads(n int) {
	var started, done sync.WaitGroup
	leave := make(chan struct{})
	for range n {
		started.Add(1)
		done.Go(func() {
			// A goroutine that is locked waits on a thread of its own.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			<-leave
		})
	}
	started.Wait()
	close(leave)
	done.Wait()
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
	sacrifice(os.Getpid())
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
	shield(o.Tune)
	die(fmt.Errorf("running %s: %w", o.Path, syscall.Exec(o.Path, o.Command, os.Environ())))
}

// keptCapabilities are those that a kernel may need where tune has them: to reach files, and to lock memory.
const keptCapabilities = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_IPC_LOCK

// dropCapabilities takes the capabilities of root from what this thread starts. Root without them may no longer open
// /proc/PID/mem of a process that has them; what keeps other users from that is Landlock (see enclose). See capabilities(7).
func dropCapabilities() {
	for c := uintptr(0); c < 64; c++ {
		if keptCapabilities&(1<<c) == 0 {
			// Others than root have none to drop, and are refused.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
}

// sacrifice makes a process and those that it starts the ones that the system chooses where memory runs out, rather than
// tune.
func sacrifice(pid int) {
	if fd, err := unix.Open(fmt.Sprintf("/proc/%d/oom_score_adj", pid), unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("1000"))
		_ = unix.Close(fd)
	}
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
