//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a filter answers.
const (
	seccompAllow = 0x7fff0000
	seccompTrap  = 0x00030000 // SIGSYS, which the handler records
	seccompErrno = 0x00050000
)

// Offsets in struct seccomp_data.
const (
	dataNumber       = 0
	dataArchitecture = 4
	dataArgument0    = 16 // the low half, on little-endian machines
)

// noProcesses installs a filter on all threads of this process: it may start threads, but no process, no session,
// and send signals to nobody else. It cannot be removed.
func noProcesses() error {
	program := filter(uint32(os.Getpid()))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("this system refuses a seccomp filter, so that native code cannot be isolated: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("thread %d could not take the seccomp filter", tid)
	}
	return nil
}

// filter returns the program for the process of the given id. Jumps count the instructions to skip.
func filter(pid uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	answer := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	p := []unix.SockFilter{
		load(dataArchitecture),
		jump(unix.BPF_JEQ, auditArchitecture, 1, 0),
		answer(seccompTrap),
		load(dataNumber),
		// The x32 calls of amd64 have a bit of their own.
		jump(unix.BPF_JGE, 0x40000000, 0, 1),
		answer(seccompTrap),
		// The flags of clone3 are behind a pointer, which a filter cannot follow. Without it libc uses clone.
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		answer(seccompErrno | uint32(unix.ENOSYS)),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(dataArgument0),
		jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1),
		answer(seccompAllow),
		answer(seccompTrap),
	}
	for _, nr := range signalCalls {
		p = append(p,
			jump(unix.BPF_JEQ, nr, 0, 4),
			load(dataArgument0),
			jump(unix.BPF_JEQ, pid, 0, 1),
			answer(seccompAllow),
			answer(seccompTrap))
	}
	// Limits of this process are its own to change; those of tune and of the supervisor are not.
	p = append(p,
		jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 5),
		load(dataArgument0),
		jump(unix.BPF_JEQ, 0, 1, 0),
		jump(unix.BPF_JEQ, pid, 0, 1),
		answer(seccompAllow),
		answer(seccompTrap))
	for _, nr := range refusedCalls {
		p = append(p, jump(unix.BPF_JEQ, nr, 0, 1), answer(seccompTrap))
	}
	return append(p, answer(seccompAllow))
}

// signalCalls may name this process only.
var signalCalls = []uint32{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO}

// refusedCalls are refused whatever their arguments; see also refusedHere.
var refusedCalls = append([]uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_SETSID, unix.SYS_SETPGID, unix.SYS_PTRACE, unix.SYS_TKILL,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
}, refusedHere...)

// refusal says in the user's words what a refused system call was for.
func refusal(nr int64) string {
	switch nr {
	case unix.SYS_CLONE:
		return "tried to start a process (clone)"
	case unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		return "tried to run a program (execve)"
	case unix.SYS_SETSID, unix.SYS_SETPGID, unix.SYS_UNSHARE, unix.SYS_SETNS:
		return "tried to leave its session or group (setsid, setpgid)"
	case unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL:
		return "tried to send a signal to another process"
	case unix.SYS_PRLIMIT64, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD:
		return "tried to reach into another process"
	}
	if name := refusedName(nr); name != "" {
		return "tried to start a process (" + name + ")"
	}
	return fmt.Sprintf("made a system call that a kernel has no use for (%d)", nr)
}
