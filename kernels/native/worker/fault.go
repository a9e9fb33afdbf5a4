//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// fault is the record that the worker's signal handler writes to memory shared with tune. The handlers in assembly depend on its
// layout.
type fault struct {
	claimed int64 // by the first thread that faults
	signal  int64 // 0 until the record is complete
	code    int64
	address uint64
	syscall int64 // where the signal is SIGSYS
	pc      uint64
	sp      uint64
	access  uint64 // the page fault's error code, on amd64
}

// faultBytes is the size of the shared memory that holds the record.
const faultBytes = 4096

// read returns the record; ok is false where no signal was handled.
func (f *fault) read() (record fault, ok bool) {
	if atomic.LoadInt64(&f.signal) == 0 {
		return fault{}, false
	}
	return *f, true
}

// faultRecord is the address that the handler writes to; 0 until the worker has mapped the record.
//
//lint:ignore U1000 It is read in assembly.
var faultRecord uintptr

//lint:ignore U1000 It is called by the kernel.
func faultHandler()

//lint:ignore U1000 It is called by the kernel.
func restorer()

func handlerAddresses() (handler, restore uintptr)

// sigaction is the kernel's struct sigaction.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// faultSignals end a faulty program. endSignals end any: the Go runtime would set their handlers back first, which threads of candidates may not.
var (
	faultSignals = []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS, unix.SIGXCPU}
	endSignals   = []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM}
)

// catchFaults installs a handler that records the signals which end a program. It runs before the Go runtime's own
// handler, which knows only threads of Go, while a candidate may start its own.
func catchFaults(record unsafe.Pointer) error {
	const (
		saSiginfo  = 0x4
		saRestorer = 0x04000000
		saOnstack  = 0x08000000
	)
	faultRecord = uintptr(record)
	handler, restore := handlerAddresses()
	act := sigaction{handler: handler, flags: saSiginfo | saOnstack, mask: ^uint64(0)}
	if runtime.GOARCH == "amd64" {
		act.flags |= saRestorer
		act.restorer = restore
	}
	for _, s := range slices.Concat(faultSignals, endSignals) {
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, unsafe.Sizeof(act.mask), 0, 0); errno != 0 {
			return fmt.Errorf("installing the handler of %v: %w", s, errno)
		}
	}
	return nil
}

// haveCancelled has the C library cancel a thread once. It sets the handler of the signal by which it cancels threads when it first needs it, and
// threads of candidates may set none. The thread is one that ends anyway, and does not let itself be interrupted.
func haveCancelled() {
	// Without this library the C library would end the process, here and in a candidate.
	if _, err := purego.Dlopen("libgcc_s.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return
	}
	var state, self, cancel uintptr
	for name, to := range map[string]*uintptr{"pthread_setcancelstate": &state, "pthread_self": &self, "pthread_cancel": &cancel} {
		var err error
		if *to, err = purego.Dlsym(purego.RTLD_DEFAULT, name); err != nil {
			return // not the GNU C library
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		const disable = 1      // PTHREAD_CANCEL_DISABLE
		purego.SyscallN(state, disable, 0)
		thread, _, _ := purego.SyscallN(self)
		purego.SyscallN(cancel, thread)
	}()
	<-done
}
