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

// supervisors are the supervisors of this process that have not ended.
var supervisors family

// family is a set of child processes that look after their own descendants.
type family struct {
	// starting is held for reading while a child is started and added to the set. Whoever holds it for writing finds every child
	// in the set.
	starting sync.RWMutex
	mu       sync.Mutex
	members  map[int]bool
	adopts   sync.Once
}

// start starts a child and adds it to the set.
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

// remove takes a child that has been waited for out of the set.
func (f *family) remove(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.members, pid)
}

// adopt makes this process inherit the descendants of supervisors that die early.
func (f *family) adopt() (err error) {
	f.adopts.Do(func() { err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
	if err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	return nil
}

// endLeftovers kills the processes that a killed supervisor left behind; the supervisor started at the given tick. It ran
// commands in a session of its own, and a process cannot join an existing session from outside. So a descendant of this process
// belongs to that supervisor if it is in another session, is not older than the supervisor, and belongs to no other supervisor.
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
