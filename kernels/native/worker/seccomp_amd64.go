//go:build linux

package worker

import "golang.org/x/sys/unix"

const auditArchitecture = 0xc000003e // AUDIT_ARCH_X86_64

// refusedHere are the calls that only this architecture has.
var refusedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_IOPL, unix.SYS_IOPERM}

func refusedName(nr int64) string {
	switch nr {
	case unix.SYS_FORK:
		return "fork"
	case unix.SYS_VFORK:
		return "vfork"
	}
	return ""
}
