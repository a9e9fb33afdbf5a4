package native

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// claimCore returns the last of the cores that no other process of tune times on, and keeps others from it until release is called or this
// process ends. Where all are claimed it returns the last one.
//
// A claim is the name of a socket that nobody listens on. Such a name is in no file system, and it is free again when its process ends,
// whatever ends it.
func claimCore(cores []int) (core int, release func()) {
	for _, core := range slices.Backward(cores) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			break
		}
		if unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("@tune-times-on-core-%d", core)}) == nil {
			return core, sync.OnceFunc(func() { unix.Close(fd) })
		}
		unix.Close(fd)
	}
	return cores[len(cores)-1], func() {}
}
