package cc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// niceness of compilers: other programs on the machine come first.
const niceness = 5

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// restrain limits a compiler that was just started. Child processes inherit the limits, and a driver takes longer to start the
// actual compiler than this takes.
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
