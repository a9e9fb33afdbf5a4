//go:build linux

package worker

const auditArchitecture = 0xc00000b7 // AUDIT_ARCH_AARCH64

// refusedHere are the calls that only this architecture has.
var refusedHere []uint32

func refusedName(int64) string { return "" }
