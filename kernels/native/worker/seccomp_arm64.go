//go:build linux

package worker

import "golang.org/x/sys/unix"

const auditArchitecture = 0xc00000b7 // AUDIT_ARCH_AARCH64

// ownHigh begins the range of the worker's own memory, above the heap of Go (2^47) and below programs: the high half of its first address.
const ownHigh = 0x8000

// refusedHere are refused calls that exist only on this architecture; the other lists are alike.
var refusedHere []uint32

var (
	timerCallsHere     []uint32
	processCallsHere   []uint32
	writeCallsHere     = []uint32{unix.SYS_RENAMEAT}
	attributeCallsHere []uint32
	openCalls          = []opener{{unix.SYS_OPENAT, 2}}
)

func archRules() []rule { return nil }

var registerCallsHere []uint32

func refusedName(int64) string { return "" }
