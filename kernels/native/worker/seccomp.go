//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// The answers of a filter.
const (
	seccompAllow = 0x7fff0000
	seccompTrap  = 0x00030000 // SIGSYS, which the handler records
	seccompErrno = 0x00050000
)

// Offsets in struct seccomp_data.
const (
	dataNumber       = 0
	dataArchitecture = 4
	dataArgument0    = 16 // the low half, on little-endian machines; the next one is 8 bytes further
)

// noProcesses installs a filter on all threads of this process. The process may start threads, but no process and no session. It
// may send signals only to itself, and change nothing of tune, of the supervisor or of the system. The filter cannot be removed.
// The threads of candidates have a second one; see fence.
func noProcesses(tune int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	rules := processRules(uint32(os.Getpid()), []uint32{uint32(tune), uint32(os.Getppid())})
	tid, errno := setFilter(assemble(rules, seccompTrap), unix.SECCOMP_FILTER_FLAG_TSYNC)
	if errno != 0 {
		return fmt.Errorf("this system refuses a seccomp filter, so that native code cannot be isolated: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("thread %d could not take the seccomp filter", tid)
	}
	return nil
}

// processRules are the rules for the process with the given id; others are the processes that it must not affect.
func processRules(pid uint32, others []uint32) []rule {
	// The flags of clone3 are behind a pointer, which a filter cannot follow. If it is missing, libc uses clone.
	rules := append(refuse(unix.ENOSYS, unix.SYS_CLONE3),
		permit(unix.SYS_CLONE, holds(0, unix.CLONE_THREAD)), trap(unix.SYS_CLONE),
		// A program may lower its own priority only.
		permit(unix.SYS_SETPRIORITY, is(0, unix.PRIO_PROCESS), is(1, 0)),
		permit(unix.SYS_SETPRIORITY, is(0, unix.PRIO_PROCESS), is(1, pid)), trap(unix.SYS_SETPRIORITY))
	for _, nr := range signalCalls {
		rules = append(rules, permit(nr, is(0, pid)), trap(nr))
	}
	// A process may change its own limits, but not those of tune and of the supervisor.
	for _, nr := range ownCalls {
		rules = append(rules, permit(nr, is(0, 0)), permit(nr, is(0, pid)), trap(nr))
	}
	// Runtimes pin their threads, whose ids are not known in advance.
	for _, other := range others {
		rules = append(rules, trap(unix.SYS_SCHED_SETAFFINITY, is(0, other)))
	}
	// A program that asks for another scheduling policy continues if that is refused. An endless loop with real-time priority
	// would stop the machine.
	rules = append(rules, refuse(unix.EPERM, scheduleCalls...)...)
	for _, nr := range refusedCalls {
		rules = append(rules, trap(nr))
	}
	return rules
}

// signalCalls may only name this process.
var signalCalls = []uint32{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO}

// ownCalls name a process, which may only be this one, also given as 0.
var ownCalls = []uint32{unix.SYS_PRLIMIT64, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES}

// scheduleCalls change the scheduling policy of a thread.
var scheduleCalls = []uint32{unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_IOPRIO_SET}

// refusedCalls are refused whatever their arguments; see also refusedHere.
var refusedCalls = slices.Concat([]uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_SETSID, unix.SYS_SETPGID, unix.SYS_TKILL,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_UNSHARE, unix.SYS_SETNS,
}, reachingCalls, systemCalls, refusedHere)

// reachingCalls access another process.
var reachingCalls = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
}

// systemCalls change the whole system.
var systemCalls = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_BPF, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_VHANGUP,
	// Requests made through such a ring bypass the filter.
	unix.SYS_IO_URING_SETUP,
}

// refusal says, in words for the user, what a refused system call was for.
func refusal(nr int64) string {
	switch nr {
	case unix.SYS_CLONE:
		return "tried to start a process (clone)"
	case unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		return "tried to run a program (execve)"
	case unix.SYS_SETSID, unix.SYS_SETPGID, unix.SYS_UNSHARE, unix.SYS_SETNS:
		return "tried to leave its session or group (setsid, setpgid)"
	case unix.SYS_PRLIMIT64:
		return "tried to change the limits of its process, or to reach into another process (setrlimit, prlimit)"
	case unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL:
		return "tried to send a signal to another process or thread"
	case unix.SYS_SCHED_SETAFFINITY, unix.SYS_SETPRIORITY:
		return "tried to change how another process is scheduled"
	}
	if call := uint32(nr); slices.Contains(ownCalls, call) || slices.Contains(reachingCalls, call) {
		return "tried to reach into another process"
	} else if slices.Contains(systemCalls, call) {
		return fmt.Sprintf("tried to change the system that it runs on (system call %d)", nr)
	}
	if text := fenceRefusal(uint32(nr)); text != "" {
		return text
	}
	if name := refusedName(nr); name != "" {
		return "tried to start a process (" + name + ")"
	}
	return fmt.Sprintf("made a system call that a kernel has no use for (%d)", nr)
}
