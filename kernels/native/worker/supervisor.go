//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// A process that was started as part of a worker becomes that here, before the packages that import this one are initialised: their
// initialisation takes about as long as everything else at the start of a process, and a final measurement starts hundreds. The main
// goroutine of a child stays on the main thread. The candidates of a worker run on other threads, which can end; the child of a
// supervisor ends with the thread that started it.
func init() {
	if isChild() {
		runtime.LockOSThread()
		become()
	}
}

// isChild reports whether this process was started as part of a worker.
func isChild() bool {
	return len(os.Args) == 2 && (os.Args[0] == supervisorName || os.Args[0] == workerName || os.Args[0] == limiterName)
}

// become does the work that this process was started for, and does not return. Children exit directly by the system call: nothing
// in them needs an orderly end, and the race detector would delay it.
func become() {
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

// killPatience limits the time spent on killing what cannot be killed.
const killPatience = 5 * time.Second

// The intervals at which a supervisor checks: what a command has started; whether a process has ended, where the system cannot
// notify it; and whether the killed processes are gone.
const (
	watchInterval = 25 * time.Millisecond
	askInterval   = 2 * time.Millisecond
	killInterval  = time.Millisecond
)

// A supervisor leaves a worker that has ended as it is: for lastThread, and while threads wait for processors, for mostLast at most. The thread
// of it that ended last still removes what /proc showed of it. Who reaps the process before that spins in the system until it is done: for
// milliseconds, where that thread waits for a processor.
const (
	lastThread = 100 * time.Microsecond
	waitLast   = time.Millisecond
	mostLast   = 5 * time.Millisecond
)

// supervisor is the state of a supervisor process. It is one loop on one thread, so that it still works when a fork bomb has used
// up the system's processes and threads.
type supervisor struct {
	order   order
	pid     int // of the worker or command, which leads its group
	pidfd   int // -1 where the system has none, and once the process was reaped
	census  census
	result  news
	began   time.Time // of the killing; zero before
	scanned time.Time // when all descendants were last looked for; zero before
	fresh   bool      // something was reaped since then
}

// supervise starts the ordered process, waits until it or the lifeline ends, kills every process that descends from this one, and
// reports.
func supervise(o order) {
	tell := func(n news) {
		text, err := json.Marshal(n)
		if err == nil {
			_, _ = unix.Write(lifelineFD, text) // nobody reads it if tune is gone
		}
	}
	fail := func(err error) {
		tell(news{Error: err.Error()})
		unix.Exit(1)
	}
	restoreProcs(o.Procs)
	// Garbage collection and core dumps would need threads, and there is almost no garbage.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
	// Signals to the whole terminal are for tune to handle. They are caught and not ignored, because the started process would
	// inherit ignored signals.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT)
	for _, fd := range []int{lifelineFD, controlFD, faultFD} {
		unix.CloseOnExec(fd)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fail(fmt.Errorf("becoming a subreaper: %w", err))
	}

	files := []uintptr{0, 1, 2, controlFD, faultFD}
	var count census // of a command: a worker's filter lets it start nothing
	if o.Command != nil {
		count = newCensus()
		files = files[:3]
		spareThreads(spares)
		shield(o.Tune)
	} else {
		dropCapabilities()
		if !o.Open {
			o.Landlock = enclose(o.Scratch, o.Sharing)
		}
	}
	began := time.Now().Unix()
	pid, tally, err := launch(o, syscall.ProcAttr{
		Env:   os.Environ(),
		Files: files,
		// The process dies with the main thread, so that even a supervisor that is killed leaves nothing behind.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		fail(fmt.Errorf("starting a worker: %w", err))
	}
	if o.Command == nil {
		elsewhere(func() { sacrifice(pid) })
	}
	tell(news{PID: pid})
	// From here on only the worker holds its ends of the pipes and of the socket: when they close, the worker has ended.
	if o.Command == nil {
		_ = unix.Close(controlFD)
		_ = unix.Close(faultFD)
	}
	if null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	s := supervisor{order: o, pid: pid, census: count, result: news{Ended: true}}
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
	if o.Command == nil {
		elsewhere(func() { removeLeft(o, pid, began) })
	}
	s.result.Tally = readTally(tally)
	tell(s.result)
	unix.Exit(0)
}

// launch starts the ordered process. tally is the descriptor of the tally of a command; -1 where there is none.
func launch(o order, attr syscall.ProcAttr) (pid, tally int, err error) {
	name := workerName
	if o.Command != nil {
		if !privileged(o.Path) {
			if pid, tally, err = startLimited(o, attr); err == nil {
				return pid, tally, nil
			}
		}
		// Who may not trace, or has ordered what cannot be run, needs a process of tune's that becomes the command, or says why not.
		name = limiterName
	}
	text, err := json.Marshal(o)
	if err != nil {
		return 0, -1, err
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{name, string(text)}, &attr)
	return pid, -1, err
}

// startTally has the system add up the CPU time of a process that has not begun, and of all that descend from it. The system forgets that of a child
// whose end its parent does not wait for, for instance because it ignores SIGCHLD. It returns -1 where the system does not allow it.
func startTally(pid int) (fd int) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		// This clock goes on in the system too, whatever is excluded.
		Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1
	}
	return fd
}

// readTally returns the nanoseconds of a tally, 0 without one.
func readTally(fd int) int64 {
	var buf [8]byte
	if fd < 0 {
		return 0
	}
	if n, err := unix.Read(fd, buf[:]); err != nil || n != len(buf) {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(buf[:]))
}

// privileged reports whether a program may get other rights from the system when it is executed, as sudo does. Traced, it would not.
func privileged(path string) bool {
	for range 8 { // an interpreter may have one
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			return true
		}
		if n, err := unix.Getxattr(path, "security.capability", nil); err == nil && n > 0 {
			return true
		}
		head := make([]byte, 256)
		file, err := os.Open(path)
		if err != nil {
			return true // it may be executed and not read, and so not examined either
		}
		n, _ := io.ReadFull(file, head)
		_ = file.Close()
		line, found := bytes.CutPrefix(head[:n], []byte("#!"))
		words := bytes.Fields(bytes.SplitN(line, []byte("\n"), 2)[0])
		if !found || len(words) == 0 {
			return false
		}
		path = string(words[0])
	}
	return true
}

// startLimited starts a command that stops before its first instruction, and lets it go on with its limits. That spares a process of
// tune's between this one and the command, whose start takes longer than that of most commands.
func startLimited(o order, attr syscall.ProcAttr) (pid, tally int, err error) {
	tally = -1
	sys := *attr.Sys
	sys.Ptrace = true
	attr.Sys = &sys
	if pid, err = syscall.ForkExec(o.Path, o.Command, &attr); err != nil {
		return 0, -1, err
	}
	var status unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
			break
		}
	}
	if err == nil && !status.Stopped() {
		return 0, -1, errors.New("the command ended before its first instruction")
	}
	if err == nil {
		sacrifice(pid)
		err = confine(pid, o)
	}
	if err == nil && o.Tally {
		tally = startTally(pid)
	}
	if err == nil {
		err = unix.PtraceDetach(pid)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, &status, 0, nil)
		return 0, -1, err
	}
	return pid, tally, nil
}

// removeLeft removes what a worker that began at the given second has left outside of its process.
func removeLeft(o order, pid int, began int64) {
	removeMemory(pid, began)
	if o.Sharing {
		removeRegistrations(pid)
	}
	if o.Scratch != "" {
		_ = os.RemoveAll(o.Scratch) // tune does it again if it is still alive
	}
}

// elsewhere calls f on another thread. The main thread, which main goroutines of children never leave, has given up the right to
// change files; its Landlock domain does not apply to the other threads.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// watch waits for what ends the process: its own end, the end of tune, or too many started processes.
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
		return
	}
	if s.result.Excess = s.census.excess(); s.result.Excess != "" {
		s.beginKilling()
	}
}

// beginKilling kills the process and its group. That is one operation of the system, which no member can escape by forking.
func (s *supervisor) beginKilling() {
	if s.began.IsZero() {
		s.began = time.Now()
		_ = unix.Kill(-s.pid, unix.SIGKILL)
	}
}

// kill does one round of killing. It returns false where that has taken too long.
func (s *supervisor) kill() bool {
	now := time.Now()
	patience := askInterval
	if s.order.Command == nil {
		patience = watchInterval // a worker's filter lets it start nothing, and on a busy machine its threads take a while to end
	}
	switch {
	case s.scanned.IsZero() && s.pidfd >= 0 && now.Sub(s.began) < patience:
		// Usually the group was everything, and no search is needed.
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(s.pidfd), Events: unix.POLLIN}}, int(patience/time.Millisecond))
		return true
	case s.scanned.IsZero() || s.fresh || now.Sub(s.scanned) > watchInterval:
		// A round may miss a process that is just being started. Its parent was seen and killed, so this process inherits it
		// before it can reap the parent, and then there is another round.
		s.scanned, s.fresh = now, false
		killDescendants()
	}
	_, _ = unix.Poll(nil, int(killInterval/time.Millisecond))
	return now.Sub(s.began) < killPatience
}

// reap collects the processes that have ended, and reports whether there are others.
func (s *supervisor) reap() bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false // no child is left: everything that descended from the worker has been reaped here
		}
		// The sender is the first field after the common fields of all signals, at an offset of 16.
		child := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 16)))
		if child == 0 {
			return true
		}
		if child == s.pid {
			s.beginKilling() // no other group can have its id until it is reaped
			if s.order.Command == nil {
				leaveLast()
			}
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

// leaveLast waits until a worker that has ended can be reaped.
func leaveLast() {
	pause(lastThread)
	for began := time.Now(); time.Since(began) < mostLast; pause(waitLast) {
		if running, _ := systemThreads(); running <= runtime.NumCPU() {
			return
		}
	}
}

// spares is how many threads a supervisor keeps in reserve: more than its runtime is ever seen to use.
const spares = 6

// spareThreads makes the Go runtime start n threads and keep them. Otherwise the runtime would exit when it needs another thread
// and the system has none left, which is what a fork bomb causes.
func spareThreads(n int) {
	var started, done sync.WaitGroup
	leave := make(chan struct{})
	for range n {
		started.Add(1)
		done.Go(func() {
			// A locked goroutine waits on a thread of its own.
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

// limit applies the limits of a command to this process, and then becomes the command.
func limit(o order) {
	die := func(err error) {
		fmt.Fprintln(os.Stderr, "tune:", err)
		unix.Exit(126)
	}
	sacrifice(os.Getpid())
	if err := confine(0, o); err != nil {
		die(err)
	}
	die(fmt.Errorf("running %s: %w", o.Path, syscall.Exec(o.Path, o.Command, os.Environ())))
}

// confine applies the limits of a command to a process of one thread; 0 stands for this one.
func confine(pid int, o order) error {
	if o.Core >= 0 {
		if err := pin(pid, o.Core); err != nil {
			return err
		}
	}
	if err := setLimits(pid, o.Limits); err != nil {
		return err
	}
	// The limit holds for each of its processes separately.
	seconds := uint64((o.Limits.CPU + time.Second - 1) / time.Second)
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 2}, nil); err != nil {
		return fmt.Errorf("limiting CPU time: %w", err)
	}
	if raceDetector {
		return nil
	}
	// Many programs reserve much more address space than they use.
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(o.Limits.Memory), Max: uint64(o.Limits.Memory)}, nil); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	return nil
}

// keptCapabilities are those that a kernel may need if tune has them: to access files, and to lock memory.
const keptCapabilities = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_IPC_LOCK

// dropCapabilities removes root's capabilities from everything that this thread starts. Without them root may no longer open
// /proc/PID/mem of a process that has them; other users are kept from that by Landlock (see enclose). See capabilities(7).
func dropCapabilities() {
	for c := uintptr(0); c < 64; c++ {
		if keptCapabilities&(1<<c) == 0 {
			// Users other than root have none to drop, and the call is refused.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
}

// sacrifice makes the system choose a process and those that it starts, and not tune, when memory runs out.
func sacrifice(pid int) {
	if fd, err := unix.Open(fmt.Sprintf("/proc/%d/oom_score_adj", pid), unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("1000"))
		_ = unix.Close(fd)
	}
}

// setLimits sets the limits of a process that never change; 0 stands for this one.
func setLimits(pid int, l Limits) error {
	for _, v := range []struct {
		name     string
		resource int
		most     int64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, l.File},
	} {
		if err := unix.Prlimit(pid, v.resource, &unix.Rlimit{Cur: uint64(v.most), Max: uint64(v.most)}, nil); err != nil {
			return fmt.Errorf("limiting %s: %w", v.name, err)
		}
	}
	return nil
}

// pin binds a thread to a core; 0 stands for the calling one.
func pin(pid, core int) error {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("pinning to core %d: %w", core, err)
	}
	return nil
}
