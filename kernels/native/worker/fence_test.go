//go:build linux && (amd64 || arm64)

package worker

import (
	"testing"

	"golang.org/x/sys/unix"
)

// execute returns what the system would do with a call: the answer of a program. It knows the instructions that assemble writes.
func execute(t *testing.T, program []unix.SockFilter, architecture, call uint32, args ...uint64) uint32 {
	t.Helper()
	data := map[uint32]uint32{dataNumber: call, dataArchitecture: architecture}
	for i := range uint32(6) {
		var arg uint64
		if int(i) < len(args) {
			arg = args[i]
		}
		data[dataArgument0+8*i], data[dataArgument0+8*i+4] = uint32(arg), uint32(arg>>32)
	}
	var a uint32
	for at := 0; at < len(program); at++ {
		in := program[at]
		var holds bool
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = data[in.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&in.K != 0
		default:
			t.Fatalf("instruction %d has the code %#x", at, in.Code)
		}
		if holds {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the program ends without an answer")
	return 0
}

// TestProcessRules: the filter of a whole worker answers each kind of call as its rules say, and none of another architecture.
func TestProcessRules(t *testing.T) {
	const pid, tune, supervisor, other = 100, 50, 60, 70
	const here = auditArchitecture
	noSuch, refused := uint32(seccompErrno|uint32(unix.ENOSYS)), uint32(seccompErrno|uint32(unix.EPERM))
	program := assemble(processRules(pid, []uint32{tune, supervisor}), seccompTrap)
	for _, c := range []struct {
		name         string
		architecture uint32
		call         uint32
		args         []uint64
		want         uint32
	}{
		{"read", here, unix.SYS_READ, nil, seccompAllow},
		{"read of another architecture", here + 1, unix.SYS_READ, nil, seccompTrap},
		{"read of x32", here, x32 | unix.SYS_READ, nil, seccompTrap},
		{"a thread", here, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, seccompAllow},
		{"a process", here, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, seccompTrap},
		{"clone3", here, unix.SYS_CLONE3, nil, noSuch},
		{"a signal to itself", here, unix.SYS_TGKILL, []uint64{pid}, seccompAllow},
		{"a signal to tune", here, unix.SYS_TGKILL, []uint64{tune}, seccompTrap},
		{"its limits", here, unix.SYS_PRLIMIT64, []uint64{0}, seccompAllow},
		{"its limits, by its id", here, unix.SYS_PRLIMIT64, []uint64{pid}, seccompAllow},
		{"the limits of others", here, unix.SYS_PRLIMIT64, []uint64{other}, seccompTrap},
		{"pin a thread", here, unix.SYS_SCHED_SETAFFINITY, []uint64{other}, seccompAllow},
		{"pin tune", here, unix.SYS_SCHED_SETAFFINITY, []uint64{tune}, seccompTrap},
		{"pin the supervisor", here, unix.SYS_SCHED_SETAFFINITY, []uint64{supervisor}, seccompTrap},
		{"its priority", here, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0}, seccompAllow},
		{"its priority, by its id", here, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, pid}, seccompAllow},
		{"the priority of others", here, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, other}, seccompTrap},
		{"the priority of a user", here, unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0}, seccompTrap},
		{"another scheduling policy", here, unix.SYS_SCHED_SETSCHEDULER, nil, refused},
		{"a program", here, unix.SYS_EXECVE, nil, seccompTrap},
		{"the last in the list", here, refusedCalls[len(refusedCalls)-1], nil, seccompTrap},
	} {
		if got := execute(t, program, c.architecture, c.call, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestAssemble: the first rule that matches answers, whatever the tests of the rules before it have loaded.
func TestAssemble(t *testing.T) {
	program := assemble([]rule{
		{call: 1, answer: 11, tests: []test{is(0, 5), holds(1, 6)}},
		{call: 1, answer: 12, tests: []test{highIn(0, 4)}},
		{call: 2, answer: 13},
		{call: 3, answer: 15, tests: []test{{arg: 1, and: 0xf0, value: 0x30}, is(0, 5)}},
		{call: 1, answer: 14},
		{call: 3, answer: 16},
	}, 99)
	for _, c := range []struct {
		call, want uint32
		args       []uint64
	}{
		{1, 11, []uint64{5, 2}},
		{1, 14, []uint64{5, 1}},
		{1, 14, []uint64{2, 2}},
		{1, 12, []uint64{4 << 32}},
		{2, 13, nil},
		{3, 15, []uint64{5, 0x1234}},
		{3, 16, []uint64{5, 0x1274}},
		{3, 16, []uint64{6, 0x1234}},
		{4, seccompAllow, []uint64{5, 2}},
	} {
		if got := execute(t, program, auditArchitecture, c.call, c.args...); got != c.want {
			t.Errorf("call %d with %v: %d, want %d", c.call, c.args, got, c.want)
		}
	}
}

// TestOwnMemoryRules: a candidate can change none of the memory in the worker's own range, from wherever the call begins, and the rest as it likes.
func TestOwnMemoryRules(t *testing.T) {
	const first, size, fixed = ownFirst + 5<<20, 4096, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED
	const below, above, long = ownHigh<<32 - size, 0x7f12_3456_7000, 1 << 40
	refused := uint32(seccompErrno | uint32(unix.EPERM))
	program := assemble(ownMemoryRules(), seccompAllow)
	for _, c := range []struct {
		name string
		call uint32
		args []uint64
		want uint32
	}{
		{"madvise", unix.SYS_MADVISE, []uint64{first, size, unix.MADV_DONTNEED}, refused},
		{"madvise with a tag in the address", unix.SYS_MADVISE, []uint64{0xab<<56 | first, size, unix.MADV_DONTNEED}, refused},
		{"madvise of the last", unix.SYS_MADVISE, []uint64{ownEnd - size, size, unix.MADV_NOHUGEPAGE}, refused},
		{"madvise from below, too short to reach it", unix.SYS_MADVISE, []uint64{below, long - 1, unix.MADV_DONTNEED}, seccompAllow},
		{"madvise from below", unix.SYS_MADVISE, []uint64{below, long, unix.MADV_DONTNEED}, refused},
		{"madvise elsewhere", unix.SYS_MADVISE, []uint64{above, size, unix.MADV_DONTNEED}, seccompAllow},
		{"madvise of Go's memory", unix.SYS_MADVISE, []uint64{0xc0_0000_0000, size, unix.MADV_DONTNEED}, seccompAllow},
		{"mprotect", unix.SYS_MPROTECT, []uint64{first, size, unix.PROT_NONE}, refused},
		{"pkey_mprotect", unix.SYS_PKEY_MPROTECT, []uint64{first, size, unix.PROT_NONE, 1}, refused},
		{"munmap", unix.SYS_MUNMAP, []uint64{first, size}, refused},
		{"munmap elsewhere", unix.SYS_MUNMAP, []uint64{above, size}, seccompAllow},
		{"mlock", unix.SYS_MLOCK, []uint64{first, size}, refused},
		{"mlock2", unix.SYS_MLOCK2, []uint64{first, size, 1}, refused},
		{"mbind", unix.SYS_MBIND, []uint64{first, size}, refused},
		{"mmap over it", unix.SYS_MMAP, []uint64{first, size, unix.PROT_READ, fixed}, refused},
		{"mmap over it from below", unix.SYS_MMAP, []uint64{below, long, unix.PROT_READ, fixed}, refused},
		{"mmap beside it", unix.SYS_MMAP, []uint64{first, size, unix.PROT_READ, unix.MAP_PRIVATE | unix.MAP_ANON}, seccompAllow},
		{"mmap elsewhere", unix.SYS_MMAP, []uint64{above, size, unix.PROT_READ, fixed}, seccompAllow},
		{"mremap of it", unix.SYS_MREMAP, []uint64{first, size, size, unix.MREMAP_MAYMOVE}, refused},
		{"mremap over it", unix.SYS_MREMAP, []uint64{above, size, size, unix.MREMAP_MAYMOVE | unix.MREMAP_FIXED, first}, refused},
		{"mremap over it from below", unix.SYS_MREMAP, []uint64{above, size, long, unix.MREMAP_MAYMOVE | unix.MREMAP_FIXED, below}, refused},
		{"mremap elsewhere", unix.SYS_MREMAP, []uint64{above, size, size, unix.MREMAP_MAYMOVE, first}, seccompAllow},
		{"move_pages", unix.SYS_MOVE_PAGES, []uint64{0, 1, above, above, above, 2}, refused},
		{"move_pages, with the list at a round address", unix.SYS_MOVE_PAGES, []uint64{0, 1, above, 1 << 32, above, 2}, refused},
		{"move_pages that only asks", unix.SYS_MOVE_PAGES, []uint64{0, 1, above, 0, above, 0}, seccompAllow},
		{"migrate_pages", unix.SYS_MIGRATE_PAGES, []uint64{0, 8, above, above}, refused},
		{"a name for it", unix.SYS_PRCTL, []uint64{unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, first, size}, refused},
		{"a name for other memory", unix.SYS_PRCTL, []uint64{unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, above, size}, seccompAllow},
	} {
		if got := execute(t, program, auditArchitecture, c.call, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	over := assemble(watchRules(), seccompAllow)
	if got := execute(t, over, auditArchitecture, unix.SYS_SHMAT, 1, first, shmRemap); got != seccompTrap {
		t.Errorf("shared memory over it: %#x", got)
	}
}

// TestHandlerRules: a candidate may ask for handlers of signals, but set none, not even of those that the C library handles (32 and 33).
func TestHandlerRules(t *testing.T) {
	const handler = 0x7f12_3456_7000
	refused := uint32(seccompErrno | uint32(unix.EPERM))
	program := assemble(handlerRules(), seccompAllow)
	for _, c := range []struct {
		name   string
		signal unix.Signal
		act    uint64
		want   uint32
	}{
		{"asks", unix.SIGTRAP, 0, seccompAllow},
		{"sets one", unix.SIGTRAP, handler, refused},
		{"sets one at a round address", unix.SIGSEGV, 1 << 32, refused},
		{"sets the last", 64, handler, refused},
		{"sets one of the C library's", 32, handler, refused},
		{"sets another of the C library's", 33, handler, refused},
	} {
		if got := execute(t, program, auditArchitecture, unix.SYS_RT_SIGACTION, uint64(c.signal), c.act); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
