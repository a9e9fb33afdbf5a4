//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// supervisors are those of this process that have not ended.
var supervisors family

// family is a set of child processes that care for what descends from them.
type family struct {
	// starting is held for reading from before a child is started until it is in the set, so that whoever holds it for
	// writing finds no child that is not.
	starting sync.RWMutex
	mu       sync.Mutex
	members  map[int]bool
	adopts   sync.Once
}

// start starts a child and takes it into the set.
func (f *family) start(cmd *exec.Cmd) error {
	f.starting.RLock()
	defer f.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == nil {
		f.members = map[int]bool{}
	}
	f.members[cmd.Process.Pid] = true
	return nil
}

// remove takes a child out of the set that has been waited for.
func (f *family) remove(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.members, pid)
}

// adopt makes this process inherit what supervisors leave behind that die before their time.
func (f *family) adopt() (err error) {
	f.adopts.Do(func() { err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
	if err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	return nil
}

// endLeftovers kills the processes that a supervisor left behind which began at the given tick and was killed itself.
// It runs commands in a session of its own, and sessions are never entered from outside: what descends from this
// process, is in another session, is not older than that supervisor, and belongs to no other one, is of that one.
func (f *family) endLeftovers(since int) {
	f.starting.Lock()
	defer f.starting.Unlock()
	self := os.Getpid()
	for end := time.Now().Add(killPatience); time.Now().Before(end); time.Sleep(killInterval) {
		all := processes()
		f.mu.Lock()
		found := descendants(self, all, f.members)
		f.mu.Unlock()
		left := 0
		for _, pid := range found {
			s := all[pid]
			if s.session == all[self].session || s.start < since {
				continue
			}
			left++
			if s.parent == self && (s.state == 'Z' || s.state == 'X') {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
				continue
			}
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if left == 0 {
			return
		}
	}
}
