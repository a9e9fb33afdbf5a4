//go:build linux && (amd64 || arm64)

package worker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the worker itself maps and candidates reach lies in a range of addresses that nothing else uses: the memory of timed calls, the plan, the
// inputs and the shared buffers. So the filter of candidates can tell it by the address, and refuses calls that change it (ownMemoryRules).
// Where it could be closed, a signal handler could do the work when the timing loop reads an output, outside of the clock. Where it could be
// divided or taken from its large pages, the candidates that follow would be slower.
//
// The range begins 1 TiB before the first mapping, so that no call that begins below the range reaches a mapping in it.
const (
	ownFirst  = (ownHigh + 0x100) << 32
	ownEnd    = (ownHigh + 0xf00) << 32
	ownMask   = 0x00ff_f000 // of the high halves, which are then ownHigh; arm64 ignores the highest byte of an address
	longBits  = 0xffff_ff00 // of the high half of lengths that are refused, from 1 TiB on
	ownSpread = 1 << 20     // between two mappings
)

// mapOwn maps memory in the range of the worker's own. Where the system has no such addresses, or others use them, it is elsewhere, without that
// protection.
func (w *child) mapOwn(fd, size, access, flags int) (unsafe.Pointer, error) {
	if w.free < ownFirst || w.free+uintptr(size) > ownEnd {
		w.free = ownFirst
	}
	base, err := unix.MmapPtr(fd, 0, unsafe.Add(nil, w.free), uintptr(size), access, flags|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		return unix.MmapPtr(fd, 0, nil, uintptr(size), access, flags)
	}
	w.free += uintptr(roundUp(size+ownSpread, hugePage))
	return base, nil
}
