//go:build linux

package worker

import "golang.org/x/sys/unix"

const auditArchitecture = 0xc000003e // AUDIT_ARCH_X86_64

// ownHigh begins the range of the worker's own memory, above the heap of Go (2^46) and below programs: the high half of its first address.
const ownHigh = 0x4000

// refusedHere are refused calls that exist only on this architecture; the other lists are alike.
var refusedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_IOPL, unix.SYS_IOPERM}

var (
	timerCallsHere   = []uint32{unix.SYS_ALARM}
	processCallsHere = []uint32{unix.SYS_MODIFY_LDT}
	writeCallsHere   = []uint32{
		unix.SYS_CREAT, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_MKDIR,
		unix.SYS_RMDIR, unix.SYS_MKNOD,
	}
	attributeCallsHere = []uint32{
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	}
	openCalls = []opener{{unix.SYS_OPENAT, 2}, {unix.SYS_OPEN, 1}}
)

// The codes of arch_prctl. The first ones change registers that the runtimes of the worker rely on, or what cpuid answers.
const (
	archSetGS    = 0x1001
	archSetFS    = 0x1002
	archGetFS    = 0x1003
	archGetGS    = 0x1004
	archSetCPUID = 0x1012
	// What the processor has of states that a program must ask for, such as that of matrix tiles; what was granted; asking for it.
	archGetSupported = 0x1021
	archGetPermitted = 0x1022
	archRequest      = 0x1023
)

// archRules allow of arch_prctl what asks and what matrix tiles need. libc probes for further features of a processor, which then seem
// not to be there.
func archRules() []rule {
	var rules []rule
	for _, code := range []uint32{archSetGS, archSetFS, archSetCPUID} {
		rules = append(rules, trap(unix.SYS_ARCH_PRCTL, is(0, code)))
	}
	for _, code := range []uint32{archGetFS, archGetGS, archGetSupported, archGetPermitted, archRequest} {
		rules = append(rules, permit(unix.SYS_ARCH_PRCTL, is(0, code)))
	}
	return append(rules, refuse(unix.EINVAL, unix.SYS_ARCH_PRCTL)...)
}

// registerCallsHere change registers that only this architecture has.
var registerCallsHere = []uint32{unix.SYS_ARCH_PRCTL}

func refusedName(nr int64) string {
	switch nr {
	case unix.SYS_FORK:
		return "fork"
	case unix.SYS_VFORK:
		return "vfork"
	}
	return ""
}
