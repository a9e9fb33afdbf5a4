//go:build linux && (amd64 || arm64)

package worker

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestStuck: a thread that has ended in a process that lives will never answer. In a process with a recorded fault the thread has ended because
// the process does, which may take long.
func TestStuck(t *testing.T) {
	const polls, none = 100, 1 << 30 // no thread has such a number
	record := new([faultBytes / 8]int64)
	n := instance{process: &process{pid: os.Getpid()}, thread: none, shared: unsafe.Slice((*byte)(unsafe.Pointer(record)), faultBytes)}
	stuck := func() (why string) {
		n.missed = 0
		for i := 0; i < polls && why == ""; i++ {
			why = n.stuck()
		}
		return why
	}
	if why := stuck(); why != "ended the thread that called it (pthread_exit)" {
		t.Errorf("of a process that lives it says %q", why)
	}
	(*fault)(unsafe.Pointer(record)).signal = int64(unix.SIGSEGV)
	if why := stuck(); why != "" {
		t.Errorf("of a process that ends it says %q", why)
	}
}
