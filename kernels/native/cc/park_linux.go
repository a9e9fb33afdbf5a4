package cc

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// niceness of compilers: whatever the machine is used for besides goes first.
const niceness = 5

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// allowed returns the cores that this process may use.
func allowed() (set unix.CPUSet, ok bool) {
	return set, unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0
}

// without returns a set of cores less one, or the set itself where that would leave none.
func without(set unix.CPUSet, core int) unix.CPUSet {
	if core >= 0 && set.IsSet(core) && set.Count() > 1 {
		set.Clear(core)
	}
	return set
}

// confined calls f with this thread away from a core, so that a process that f starts begins there too.
func confined(core int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if set, ok := allowed(); ok && core >= 0 {
		rest := without(set, core)
		if unix.SchedSetaffinity(0, &rest) == nil {
			defer unix.SchedSetaffinity(0, &set)
		}
	}
	return f()
}

// move takes a process and its descendants away from a core; -1 gives them all cores back.
func move(pid, core int) {
	set, ok := allowed()
	if !ok {
		return
	}
	set = without(set, core)
	// A child that is forked after its parent was moved is born in the right place, so parents go first.
	each(pid, func(pid int) { unix.SchedSetaffinity(pid, &set) })
}

// restrain limits a compiler that has just been started. Limits are inherited, and a driver takes longer to begin
// the compiler proper than this takes.
func restrain(pid int, cpu time.Duration) {
	seconds := uint64(cpu/time.Second) + 1
	each(pid, func(pid int) {
		for _, l := range []struct {
			what  int
			limit uint64
		}{
			{unix.RLIMIT_CPU, seconds}, {unix.RLIMIT_AS, memoryLimit}, {unix.RLIMIT_FSIZE, objectLimit}, {unix.RLIMIT_CORE, 0},
		} {
			unix.Prlimit(pid, l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}, nil)
		}
		unix.Setpriority(unix.PRIO_PROCESS, pid, niceness)
	})
}

// signal sends a signal to the process group of a compiler.
func signal(pid int, s syscall.Signal) error { return syscall.Kill(-pid, s) }

// each visits a process, then its descendants.
func each(pid int, visit func(int)) {
	visit(pid)
	p := strconv.Itoa(pid)
	text, err := os.ReadFile(filepath.Join("/proc", p, "task", p, "children"))
	if err != nil {
		return
	}
	for _, child := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(child); err == nil {
			each(n, visit)
		}
	}
}
