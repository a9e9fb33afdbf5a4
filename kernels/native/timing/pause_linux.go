package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps in the kernel. Behind a timer of the Go runtime another thread of it would wake up with this one, look for
// work for a while, and be taken for somebody else's.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
