package cc

import (
	"fmt"
	"os"
	"syscall"
)

// private reports a directory that other users could put objects into.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner := uint32(os.Getuid())
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = s.Uid
	}
	if int(owner) != os.Getuid() && owner != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%w %s can be written by others, who could have tune run their code: make it yours with chmod 700, or choose another by XDG_CACHE_HOME", ErrCache, dir)
	}
	return nil
}
