package tiles

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of arch_prctl, and the state component of matrix tiles [Linux, Documentation/arch/x86/xstate.rst].
const (
	archGetSupported     = 0x1021
	archRequestPermitted = 0x1023
	tileData             = 18
)

// Offered reports whether the system lets processes ask for the state of matrix tiles.
func Offered() bool {
	var supported uint64
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archGetSupported, uintptr(unsafe.Pointer(&supported)), 0)
	return errno == 0 && supported>>tileData&1 == 1
}

// Request asks the system to let the threads of this process use matrix tiles, which it forbids by default because their state is
// 8 KiB. It does nothing where the processor or the system has none.
func Request() error {
	if !Offered() {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archRequestPermitted, tileData, 0); errno != 0 {
		return fmt.Errorf("asking the system for the state of matrix tiles: %w", errno)
	}
	return nil
}
