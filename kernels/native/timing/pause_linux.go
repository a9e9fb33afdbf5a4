package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps by a system call. With a timer of the Go runtime, another thread of the runtime would wake up too and look for
// work for a while.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
