package cheats

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory is memory that other processes can name by an id.
type sharedMemory struct {
	id   int
	text []byte
}

// newSharedMemory makes such memory. A system without it has nothing to watch.
func newSharedMemory() (*sharedMemory, error) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err == unix.ENOSYS {
		return &sharedMemory{id: -1}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("making shared memory: %w", err)
	}
	text, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		return nil, fmt.Errorf("attaching shared memory: %w", err)
	}
	copy(text, "kept")
	return &sharedMemory{id, text}, nil
}

// harm says what was done to the memory, "" for nothing.
func (m *sharedMemory) harm() string {
	const removed = 0o1000 // SHM_DEST: it goes with the last process that has attached it
	var d unix.SysvShmDesc
	switch _, err := unix.SysvShmCtl(m.id, unix.IPC_STAT, &d); {
	case m.id < 0:
		return ""
	case err != nil || d.Perm.Mode&removed != 0:
		return "removed shared memory of another process"
	case unsafe.String(&m.text[0], 4) != "kept":
		return "changed shared memory of another process"
	}
	return ""
}

func (m *sharedMemory) close() {
	if m.id >= 0 {
		_ = unix.SysvShmDetach(m.text)
		_, _ = unix.SysvShmCtl(m.id, unix.IPC_RMID, nil)
	}
}

// sharedBytes returns how much shared memory with an id there is in the system, whether a process has mapped it or not.
func sharedBytes() (bytes int64) {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0 // there is none
	}
	for line := range strings.Lines(string(text)) {
		var key, id, access, size int64
		if n, _ := fmt.Sscan(line, &key, &id, &access, &size); n == 4 {
			bytes += size
		}
	}
	return bytes
}
