package results

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes the content and the length of a file durable, without the time stamps that fsync would write too.
func syncData(file *os.File) error {
	for {
		err := unix.Fdatasync(int(file.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
