//go:build linux

package worker

import "golang.org/x/sys/unix"

const auditArchitecture = 0xc000003e // AUDIT_ARCH_X86_64

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

func refusedName(nr int64) string {
	switch nr {
	case unix.SYS_FORK:
		return "fork"
	case unix.SYS_VFORK:
		return "vfork"
	}
	return ""
}
