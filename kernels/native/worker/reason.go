//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tune/internal/files"
)

// death is everything known about the end of a worker during a request.
type death struct {
	fault    fault
	faulted  bool // fault is valid
	result   news
	failure  error // why there is no result
	during   string
	memory   *memory // nil where nothing is mapped
	bases    []uint64
	arena    [2]uint64
	limits   Limits
	stderr   string
	vanished bool // the worker closed the connection and continued
	starved  bool // the system has killed processes for lack of memory since the worker started
	counted  bool // whether the system counts such kills
}

// reason says what a candidate did, in words for its user.
func (d death) reason() string {
	text := d.cause()
	// A process that exits by itself says why; what others printed last is unrelated.
	deliberate := d.faulted && unix.Signal(d.fault.signal) == unix.SIGABRT || !d.faulted && d.failure == nil && d.result.Signal == 0
	if word := lastWords(d.stderr); word != "" && deliberate && !d.vanished {
		text += ": " + word
	}
	return text
}

func (d death) cause() string {
	switch {
	case d.faulted:
		return d.faultReason()
	case d.vanished, d.failure == nil && d.result.Signal == 0 && d.result.Code == lostStatus:
		return "closed the connection to tune (a file descriptor that is not its own)"
	case d.failure != nil:
		return fmt.Sprintf("ended the worker in the middle of %s: %v", d.during, d.failure)
	case d.result.Signal != 0:
		s := unix.Signal(d.result.Signal)
		switch s {
		case unix.SIGKILL:
			switch {
			case d.starved:
				return "was killed by the system, because memory ran out"
			case d.counted:
				return fmt.Sprintf("was killed (SIGKILL) in the middle of %s, by itself or from outside; memory had not run out", d.during)
			}
			return fmt.Sprintf("was killed (SIGKILL) in the middle of %s, by itself or by the system, as when memory runs out", d.during)
		case unix.SIGSEGV:
			return "segmentation fault at an unknown address: a thread of its own overflowed its stack, or blocks signals"
		case unix.SIGSYS:
			// The handler was blocked, as libc does while it starts a process.
			return "tried to start a process (posix_spawn, system), or made another call that is refused, with its signals blocked"
		}
		return fmt.Sprintf("ended by signal %s in the middle of %s", unix.SignalName(s), d.during)
	case d.result.Code == 2 && strings.Contains(d.stderr, "fatal error: "):
		// The Go runtime of the worker found itself corrupted or out of memory.
		return fmt.Sprintf("broke the worker in the middle of %s", d.during)
	}
	return fmt.Sprintf("exited with status %d in the middle of %s", d.result.Code, d.during)
}

// Codes of a siginfo.
const (
	segvAccess = 2    // SEGV_ACCERR
	fromKernel = 0x80 // SI_KERNEL
	divideInt  = 1    // FPE_INTDIV
)

func (d death) faultReason() string {
	f := d.fault
	switch unix.Signal(f.signal) {
	case unix.SIGSYS:
		return refusal(f.syscall)
	case unix.SIGILL:
		return "illegal instruction"
	case unix.SIGABRT:
		return "aborted"
	case unix.SIGTRAP:
		return "ran into a trap instruction"
	case unix.SIGXCPU:
		return "used more CPU time than its limit"
	case unix.SIGFPE:
		if f.code == divideInt {
			return "division by zero (SIGFPE)"
		}
		return "arithmetic error (SIGFPE)"
	case unix.SIGBUS:
		return fmt.Sprintf("bus error at address %#x", f.address)
	}
	if s := unix.Signal(f.signal); slices.Contains(endSignals, s) {
		return fmt.Sprintf("ended by signal %s in the middle of %s", unix.SignalName(s), d.during)
	}
	if f.code <= 0 {
		return "raised a segmentation fault itself"
	}
	if f.code == fromKernel {
		return "segmentation fault at a wild address, or by an unaligned vector access"
	}
	if where := d.place(); where != "" {
		return where
	}
	const nearStack = 256 << 10
	switch distance := int64(f.sp - f.address); {
	case f.address < 64<<10:
		return fmt.Sprintf("segmentation fault at address %#x: a null pointer, as a refused allocation returns (the limit on memory is %s)", f.address, files.Size(d.limits.Memory))
	case f.address > ^uint64(64<<10):
		return fmt.Sprintf("segmentation fault at address %#x, as a refused mmap returns (the limit on memory is %s)", f.address, files.Size(d.limits.Memory))
	case distance > -nearStack && distance < nearStack:
		return "stack overflow"
	case f.address == f.pc:
		return fmt.Sprintf("segmentation fault: jumped to address %#x", f.address)
	}
	return fmt.Sprintf("segmentation fault: %s address %#x, which is in no buffer", d.access("read or wrote"), f.address)
}

// access says whether the faulting instruction read or wrote; unknown where that was not recorded.
func (d death) access(unknown string) string {
	switch {
	case d.fault.access == 0 && d.fault.code != segvAccess:
		return unknown
	case d.fault.access&2 != 0:
		return "wrote"
	case d.fault.access != 0:
		return "read"
	}
	return unknown
}

// place names the buffer that a fault belongs to, "" for none.
func (d death) place() string {
	if d.memory == nil {
		return ""
	}
	address := d.fault.address
	for i, r := range d.memory.regions {
		if i >= len(d.bases) {
			break
		}
		pages, name := d.bases[i], d.memory.buffers[i].Name
		begin, end := pages+uint64(r.Start), pages+uint64(r.Start+r.Bytes)
		switch {
		case address < pages-guardBytes || address >= pages+uint64(r.Size)+guardBytes:
			continue
		case address < pages:
			return fmt.Sprintf("%s before the start of buffer %s (byte %d, in its guard page)", d.access("reached"), name, int64(address-begin))
		case address >= pages+uint64(r.Size):
			return fmt.Sprintf("%s past the end of buffer %s (byte %d of its %d, in its guard page)", d.access("reached"), name, address-begin, end-begin)
		case r.Mode == In:
			return fmt.Sprintf("wrote into its input %s (byte %d)", name, int64(address-begin))
		}
	}
	if d.arena[1] != 0 && address >= d.arena[0]-guardBytes && address < d.arena[1]+guardBytes {
		return "segmentation fault outside the copies of the buffers that it was timed on"
	}
	return ""
}
