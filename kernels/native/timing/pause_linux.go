package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps in the kernel. Behind a timer of the Go runtime another thread of it would wake up with this one and look for
// work for a while.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
