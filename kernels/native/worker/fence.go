//go:build linux && (amd64 || arm64)

package worker

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Each thread that runs code of a candidate installs a second filter on itself, and the threads that it starts inherit it. So the
// worker's own threads may still do what candidates may not. A candidate's thread can be recognised from outside by the number of
// its filters, whatever name it takes, because a filter cannot be removed.

// test is a condition on the low half of an argument, or on its high one.
type test struct {
	arg   int
	high  bool
	and   uint32 // bits that count; 0 means all
	value uint32
	mask  bool // true: one of the bits of value must be set; false: the argument must equal value
}

// instructions returns how many instructions a test takes.
func (t test) instructions() int {
	if t.and != 0 {
		return 3
	}
	return 2
}

func is(arg int, value uint32) test    { return test{arg: arg, value: value} }
func holds(arg int, bits uint32) test  { return test{arg: arg, value: bits, mask: true} }
func highIn(arg int, bits uint32) test { return test{arg: arg, high: true, value: bits, mask: true} }

// rule answers a call if its arguments pass all tests.
type rule struct {
	call   uint32
	answer uint32
	tests  []test
}

func trap(call uint32, tests ...test) rule   { return rule{call, seccompTrap, tests} }
func permit(call uint32, tests ...test) rule { return rule{call, seccompAllow, tests} }

func refuse(errno unix.Errno, calls ...uint32) (rules []rule) {
	for _, c := range calls {
		rules = append(rules, rule{call: c, answer: seccompErrno | uint32(errno)})
	}
	return rules
}

// x32 is the bit in the numbers of the calls of amd64 with short pointers. No other architecture has such numbers.
const x32 = 0x40000000

// assemble compiles rules to a program. The first rule that matches answers; what no rule matches is allowed. Calls of another
// architecture, and of x32, have other numbers: foreign answers them all. golang.org/x/net/bpf would not make this shorter: it has
// types for instructions, not for rules, and its result must be converted for the system.
func assemble(rules []rule, foreign uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	answer := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	// A jump counts the instructions to skip.
	jump := func(test uint16, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	p := []unix.SockFilter{
		load(dataArchitecture),
		jump(unix.BPF_JEQ, auditArchitecture, 1, 0),
		answer(foreign),
		load(dataNumber),
		jump(unix.BPF_JGE, x32, 0, 1),
		answer(foreign),
	}
	for i, r := range rules {
		if i > 0 && len(rules[i-1].tests) > 0 {
			p = append(p, load(dataNumber)) // a test has loaded an argument
		}
		// A call with another number skips the rest, and so does an argument that fails its test.
		rest := 1
		for _, t := range r.tests {
			rest += t.instructions()
		}
		p = append(p, jump(unix.BPF_JEQ, r.call, 0, rest))
		for _, t := range r.tests {
			offset := uint32(dataArgument0 + 8*t.arg)
			if t.high {
				offset += 4
			}
			code := uint16(unix.BPF_JEQ)
			if t.mask {
				code = unix.BPF_JSET
			}
			rest -= t.instructions()
			p = append(p, load(offset))
			if t.and != 0 {
				p = append(p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.and})
			}
			p = append(p, jump(code, t.value, 0, rest))
		}
		p = append(p, answer(r.answer))
	}
	return append(p, answer(seccompAllow))
}

// limitCalls and the other lists name the calls that only a candidate's threads are refused, by purpose; see refusal.
var (
	timerCalls  = slices.Concat([]uint32{unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE}, timerCallsHere)
	limitCalls  = []uint32{unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT}
	folderCalls = []uint32{unix.SYS_CHDIR, unix.SYS_FCHDIR}
	userCalls   = []uint32{
		unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
		unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET,
	}
	// The ids that these take are the same in all processes, and listed in /proc/sysvipc. Leaving memory (shmdt) takes no id.
	queueCalls = []uint32{
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_NOTIFY,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	}
	processCalls = slices.Concat([]uint32{unix.SYS_PRCTL, unix.SYS_PERSONALITY, unix.SYS_SECCOMP}, processCallsHere)
	watchCalls   = []uint32{unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_FANOTIFY_INIT, unix.SYS_PIDFD_OPEN}
	// A pipe keeps a whole large page for a few bytes of it, after the process has given it back: no limit counts it then.
	keepingCalls = []uint32{unix.SYS_VMSPLICE}

	// Calls that change files. Landlock refuses these where it exists, except in a worker's own folder.
	writeCalls = slices.Concat([]uint32{
		unix.SYS_TRUNCATE, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKDIRAT,
		unix.SYS_MKNODAT,
	}, writeCallsHere)
	// Calls that change the metadata of a file, which no version of Landlock refuses.
	attributeCalls = slices.Concat([]uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	}, attributeCallsHere)
)

// prctls are the options of prctl that change more than the calling thread, or what candidates that follow on it may find.
var prctls = []uint32{
	unix.PR_SET_PDEATHSIG, unix.PR_SET_DUMPABLE, unix.PR_SET_KEEPCAPS, unix.PR_SET_SECCOMP, unix.PR_CAPBSET_DROP,
	unix.PR_SET_SECUREBITS, unix.PR_TASK_PERF_EVENTS_DISABLE, unix.PR_TASK_PERF_EVENTS_ENABLE, unix.PR_MCE_KILL, unix.PR_SET_MM,
	unix.PR_SET_CHILD_SUBREAPER, unix.PR_SET_TSC, unix.PR_SET_THP_DISABLE, unix.PR_CAP_AMBIENT, unix.PR_SET_SPECULATION_CTRL,
	unix.PR_SET_IO_FLUSHER, unix.PR_SCHED_CORE, unix.PR_SET_MDWE, unix.PR_SET_MEMORY_MERGE, unix.PR_SET_PTRACER,
	// It would let the candidate answer the system calls by which the timing loop reads the clock.
	unix.PR_SET_SYSCALL_USER_DISPATCH,
}

// Commands of fcntl and ioctl that make the system send signals to any process.
var (
	signalFcntls = []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_SETLEASE, unix.F_NOTIFY}
	signalIoctls = []uint32{fioAsync, fioSetOwn, unix.SIOCSPGRP}
)

// Advice to madvise of Linux 6.13.
const (
	madvGuardInstall = 102
	madvGuardRemove  = 103
)

const (
	fioAsync  = 0x5452
	fioSetOwn = 0x8901
	tioLinux  = 0x541c
)

// opener is a call that opens files, with the index of its flags argument.
type opener struct {
	call  uint32
	flags int
}

// writing are the flags of open that reading a file does not need.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// ownMemoryRules refuse changes to what is mapped in the range of the worker's own memory (see place.go). Where such a call begins below
// the range, it is too short to reach what is in there, or it is refused for its length. A library that advises on the memory of its
// arguments continues without.
func ownMemoryRules() (rules []rule) {
	inside := func(arg int) test { return test{arg: arg, high: true, and: ownMask, value: ownHigh} }
	long := func(arg int) test { return highIn(arg, longBits) }
	no := func(call uint32, tests ...test) {
		rules = append(rules, rule{call, seccompErrno | uint32(unix.EPERM), tests})
	}
	for _, call := range []uint32{
		unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_PKEY_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MLOCK, unix.SYS_MLOCK2, unix.SYS_MBIND,
		unix.SYS_REMAP_FILE_PAGES,
	} {
		no(call, inside(0))
		no(call, long(1))
	}
	no(unix.SYS_MMAP, holds(3, unix.MAP_FIXED), inside(0))
	no(unix.SYS_MMAP, holds(3, unix.MAP_FIXED), long(1))
	no(unix.SYS_MREMAP, inside(0))
	no(unix.SYS_MREMAP, long(1))
	no(unix.SYS_MREMAP, holds(3, unix.MREMAP_FIXED), inside(4))
	no(unix.SYS_MREMAP, holds(3, unix.MREMAP_FIXED), long(2))
	// These take lists of addresses, which a filter cannot read, and what they move may be farther from the core. A program may ask where its
	// pages are.
	rules = append(rules, permit(unix.SYS_MOVE_PAGES, is(3, 0), test{arg: 3, high: true}))
	no(unix.SYS_MOVE_PAGES)
	no(unix.SYS_MIGRATE_PAGES)
	// Names of memory divide it too.
	no(unix.SYS_PRCTL, is(0, unix.PR_SET_VMA), inside(2))
	no(unix.SYS_PRCTL, is(0, unix.PR_SET_VMA), long(3))
	return rules
}

// candidateRules are the rules for a candidate's threads, in a worker whose own threads are given. Without Landlock they also
// forbid what Landlock would; sharing says whether shared memory may be made then.
func candidateRules(landlock int, sharing bool, own []int) []rule {
	everything := ^uint32(0)
	rules := []rule{
		// Setting the current value changes nothing.
		trap(unix.SYS_PRLIMIT64, holds(2, everything)), trap(unix.SYS_PRLIMIT64, highIn(2, everything)),
		trap(unix.SYS_SETRLIMIT),
		permit(unix.SYS_PERSONALITY, is(0, everything)),
		trap(unix.SYS_PERSONALITY), trap(unix.SYS_SECCOMP),
		trap(unix.SYS_FCNTL, is(1, unix.F_SETFL), holds(2, unix.O_ASYNC)),
		// Input that a program pushes into a terminal would be executed by the shell.
		trap(unix.SYS_IOCTL, is(1, unix.TIOCSTI)), trap(unix.SYS_IOCTL, is(1, tioLinux)),
		// A number that is not 0 may name another process.
		trap(unix.SYS_SETPRIORITY, holds(1, everything)),
		// Libraries ask name services, and continue without an answer; all other connections are refused.
		{call: unix.SYS_SOCKET, answer: seccompErrno | uint32(unix.EACCES), tests: []test{is(0, unix.AF_UNIX)}},
		{call: unix.SYS_SOCKET, answer: seccompErrno | uint32(unix.EACCES), tests: []test{is(0, unix.AF_NETLINK)}},
		trap(unix.SYS_SOCKET),
	}
	// Guards within memory can be set though it is sealed. Without these, libraries protect pages.
	for _, advice := range []uint32{madvGuardInstall, madvGuardRemove} {
		rules = append(rules, rule{call: unix.SYS_MADVISE, answer: seccompErrno | uint32(unix.EINVAL), tests: []test{is(2, advice)}})
	}
	rules = append(rules, handlerRules()...)
	rules = append(rules, archRules()...)
	rules = append(rules, refuse(unix.ENOSYS, unix.SYS_MEMFD_SECRET)...) // it could be had without end
	// A handler that runs on one of the worker's own threads would work outside of the candidate's clock.
	for _, thread := range own {
		rules = append(rules, trap(unix.SYS_TGKILL, is(1, uint32(thread))), trap(unix.SYS_RT_TGSIGQUEUEINFO, is(1, uint32(thread))))
	}
	rules = append(rules, trap(unix.SYS_KILL), trap(unix.SYS_RT_SIGQUEUEINFO))
	for _, call := range slices.Concat(timerCalls, folderCalls, userCalls, queueCalls, processCallsHere, watchCalls, keepingCalls) {
		rules = append(rules, trap(call))
	}
	for _, option := range prctls {
		rules = append(rules, trap(unix.SYS_PRCTL, is(0, option)))
	}
	for _, command := range signalFcntls {
		rules = append(rules, trap(unix.SYS_FCNTL, is(1, command)))
	}
	for _, command := range signalIoctls {
		rules = append(rules, trap(unix.SYS_IOCTL, is(1, command)))
	}
	// A kernel that is refused a file continues without it, as if the disk were full.
	rules = append(rules, refuse(unix.EACCES, attributeCalls...)...)
	if landlock < landlockTruncate {
		rules = append(rules, refuse(unix.EACCES, writeCalls...)...)
		// The flags of openat2 are behind a pointer. If it is missing, libraries use openat.
		rules = append(rules, refuse(unix.ENOSYS, unix.SYS_OPENAT2)...)
		for _, o := range openCalls {
			if sharing {
				// This creates shared memory. It overwrites nothing.
				rules = append(rules, permit(o.call, holds(o.flags, unix.O_CREAT), holds(o.flags, unix.O_EXCL), holds(o.flags, unix.O_NOFOLLOW)))
			}
			rules = append(rules, rule{call: o.call, answer: seccompErrno | uint32(unix.EACCES), tests: []test{holds(o.flags, writing)}})
		}
	}
	return rules
}

// handlerRules refuse handlers of signals. A handler runs between the calls too, where no clock counts for them: a call that sets the trap flag of
// the processor has its handler run after each instruction of the timing loop, and does its work there when the loop has read the clock. A kernel
// that would handle a signal continues without, and if the signal comes, the handler of the worker says so. The C library's own handler is there before; see
// haveCancelled.
func handlerRules() []rule {
	asks := permit(unix.SYS_RT_SIGACTION, is(1, 0), test{arg: 1, high: true})
	return append([]rule{asks}, refuse(unix.EPERM, unix.SYS_RT_SIGACTION)...)
}

// shield keeps the program that this process will become from ending, stopping or changing tune by mistake, for instance by a
// pkill pattern that matches too much; other processes are not protected. It needs the right to install such a filter
// (CAP_SYS_ADMIN, as root has); without it there is no shield. The unprivileged way of installing filters would keep programs
// from changing their user, which commands may need.
func shield(tune int) {
	process, group := uint32(tune), uint32(0)
	if g, err := unix.Getpgid(tune); err == nil {
		group = uint32(-g)
	}
	everyone := ^uint32(0)
	var rules []rule
	for _, r := range []struct {
		call uint32
		arg  int
		ids  []uint32
	}{
		{unix.SYS_KILL, 0, []uint32{process, group, everyone}},
		{unix.SYS_TKILL, 0, []uint32{process}},
		{unix.SYS_TGKILL, 0, []uint32{process}},
		{unix.SYS_RT_SIGQUEUEINFO, 0, []uint32{process}},
		{unix.SYS_RT_TGSIGQUEUEINFO, 0, []uint32{process}},
		{unix.SYS_PIDFD_OPEN, 0, []uint32{process}},
		{unix.SYS_PTRACE, 1, []uint32{process}},
		{unix.SYS_PROCESS_VM_WRITEV, 0, []uint32{process}},
		{unix.SYS_PRLIMIT64, 0, []uint32{process}},
		{unix.SYS_SCHED_SETAFFINITY, 0, []uint32{process}},
		{unix.SYS_SETPRIORITY, 1, []uint32{process}},
	} {
		for _, id := range r.ids {
			if id != 0 {
				rules = append(rules, rule{call: r.call, answer: seccompErrno | uint32(unix.EPERM), tests: []test{is(r.arg, id)}})
			}
		}
	}
	// The measured program must be as fast as without the filter: old kernels turn on costly protection against speculation for
	// filtered processes.
	_, _ = setFilter(assemble(rules, seccompAllow), unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
}

// fenceRefusal says what a call that only a candidate's threads are refused was for, "" for another call.
func fenceRefusal(call uint32) string {
	switch {
	case slices.Contains(timerCalls, call):
		return "tried to set a timer that sends signals (setitimer, alarm, timer_create)"
	case slices.Contains(limitCalls, call):
		return "tried to change the limits of its process (setrlimit)"
	case slices.Contains(folderCalls, call):
		return "tried to change the working folder of its process (chdir)"
	case slices.Contains(userCalls, call):
		return "tried to change the user or the rights of its process (setuid, capset)"
	case slices.Contains(queueCalls, call):
		return "tried to use what it would share with other processes (shmget, shmat, semop, msgsnd, mq_open)"
	case slices.Contains(processCalls, call):
		return "tried to change how its process works (prctl, personality, seccomp)"
	case slices.Contains(registerCallsHere, call):
		return "tried to change the base registers of its thread, or what cpuid answers (arch_prctl)"
	case slices.Contains(keepingCalls, call):
		return "tried to keep memory in a pipe, beyond its limit on memory (vmsplice)"
	case slices.Contains(watchCalls, call):
		return "tried to watch a process, memory or files from outside (perf_event_open, userfaultfd, pidfd_open)"
	}
	switch call {
	case unix.SYS_FCNTL:
		return "tried to have signals sent by the system (fcntl with F_SETOWN, F_SETSIG or O_ASYNC)"
	case unix.SYS_IOCTL:
		return "tried to have signals sent by the system, or input typed (ioctl)"
	case unix.SYS_SOCKET:
		return "tried to open a network connection (socket)"
	}
	return ""
}
