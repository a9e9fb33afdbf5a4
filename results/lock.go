package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tune/internal/files"
)

// lockName is the file in a run directory that its writer locks. It stays there after the run: the lock counts, not the file, and
// the operating system releases the lock when the process ends.
const lockName = "lock"

// lockPatience is how long acquireLock tries. It is longer than the moment for which isLocked holds a lock.
const lockPatience = 250 * time.Millisecond

// acquireLock locks a run directory and writes this process's id into the lock file. Closing the file releases the lock.
func acquireLock(dir string) (*os.File, error) {
	file, err := files.OpenToChange(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the run: %w", err)
	}
	deadline := time.Now().Add(lockPatience)
	for {
		err = flock(file, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &InUseError{Dir: dir, PID: holder(file)}
	}
	if err == nil {
		err = writeHolder(file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// isLocked reports whether some process, perhaps this one, holds the lock of a run directory.
func isLocked(dir string) bool {
	file, err := files.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(flock(file, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// InUseError says that another process is writing to a run directory.
type InUseError struct {
	Dir string
	PID int // the process that holds it; 0 where that is not known
}

// Error names the directory and the process.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %s is in use by another tune", e.Dir)
	}
	return fmt.Sprintf("run %s is in use by another tune (pid %d)", e.Dir, e.PID)
}

func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func holder(file *os.File) int {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

func writeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

// Lock locks a directory for writers of this machine, as a run directory is locked. Closing the file releases the lock. Where another
// process has it, the error is an *InUseError.
func Lock(dir string) (io.Closer, error) { return acquireLock(dir) }
