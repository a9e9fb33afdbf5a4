//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter cannot tell the threads of its process from those of others, and runtimes pin their own threads. So the filter asks:
// the system holds a thread that wants to pin another one until the watcher, a thread of the worker, has answered. Likewise it
// cannot tell whose memory an id names, and libraries take memory in large pages by shmget.

const seccompNotify = 0x7fc00000

// watchRules come before the other rules where there is a watcher.
func watchRules() []rule {
	return []rule{
		permit(unix.SYS_SCHED_SETAFFINITY, is(0, 0)),
		{call: unix.SYS_SCHED_SETAFFINITY, answer: seccompNotify},
		{call: unix.SYS_SHMAT, answer: seccompNotify},
		{call: unix.SYS_SHMCTL, answer: seccompNotify},
	}
}

// notice is the kernel's struct seccomp_notif, verdict its seccomp_notif_resp.
type notice struct {
	id           uint64
	pid          uint32
	flags        uint32
	call         int32
	architecture uint32
	pointer      uint64
	arguments    [6]uint64
}

type verdict struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// watch answers the questions of the filter with this listener, until the last thread that has the filter is gone. The process
// began at the given second.
func watch(listener int, began int64) {
	defer unix.Close(listener)
	for {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil || fds[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notice
		if errno := notifyIoctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno == unix.ENOENT || errno == unix.EINTR {
			continue // the asking thread is gone
		} else if errno != 0 {
			return
		}
		id := int(int32(n.arguments[0]))
		if n.call == unix.SYS_SCHED_SETAFFINITY && foreignThread(id) || n.call != unix.SYS_SCHED_SETAFFINITY && !madeMemory(id, os.Getpid(), began) {
			refuseHere(int64(n.call))
		}
		v := verdict{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_ = notifyIoctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&v))
	}
}

// foreignThread reports whether a thread of another process has the id. If there is no such thread, the system itself reports that.
func foreignThread(id int) bool {
	thread := strconv.Itoa(id)
	return unix.Access("/proc/self/task/"+thread, unix.F_OK) != nil && unix.Access("/proc/"+thread, unix.F_OK) == nil
}

// madeMemory reports whether a process that began at the given second has made the shared memory with the id, without a key.
func madeMemory(id, pid int, began int64) bool {
	var d unix.SysvShmDesc
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d)
	return err == nil && d.Cpid == int32(pid) && d.Perm.Key == unix.IPC_PRIVATE && d.Ctime >= began
}

// removeMemory removes the shared memory that a process has made and left. It would stay until the system ends.
func removeMemory(pid int, began int64) {
	text, err := readFile("/proc/sysvipc/shm")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		var key, id int
		if n, _ := fmt.Sscan(line, &key, &id); n == 2 && madeMemory(id, pid, began) {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}
}

// removeRegistrations removes what the OpenMP runtime of LLVM has made in /dev/shm and left there because its process was killed.
func removeRegistrations(pid int) {
	left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/__KMP_REGISTERED_LIB_%d_*", pid)) // the pattern is valid
	for _, path := range left {
		_ = os.Remove(path)
	}
}

func notifyIoctl(fd int, command uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(argument))
	return errno
}

// refuseHere ends the worker as the fault handler does for a call that a filter refuses.
func refuseHere(call int64) {
	f := (*fault)(*(*unsafe.Pointer)(unsafe.Pointer(&faultRecord)))
	if atomic.SwapInt64(&f.claimed, 1) == 0 {
		f.syscall = call
		atomic.StoreInt64(&f.signal, int64(unix.SIGSYS))
	}
	unix.Exit(1)
}

// fence installs the filter for candidates on the calling thread. It returns the descriptor for its questions, or -1 where it
// asks none: on an old system, and where another process already answers for this one.
func (w *child) fence() (listener int, err error) {
	var own []int
	for _, name := range names("/proc/self/task") {
		if id, err := strconv.Atoi(name); err == nil && id != unix.Gettid() {
			own = append(own, id)
		}
	}
	rules := candidateRules(w.order.Landlock, w.order.Sharing, own)
	if w.watched {
		if fd, errno := setFilter(assemble(slices.Concat(watchRules(), rules), seccompAllow), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); errno == 0 {
			return fd, nil
		}
	}
	if _, errno := setFilter(assemble(rules, seccompAllow), 0); errno != 0 {
		return -1, fmt.Errorf("this system refuses a seccomp filter, so that native code cannot be isolated: %w", errno)
	}
	return -1, nil
}

func setFilter(program []unix.SockFilter, flags uintptr) (int, unix.Errno) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	return int(fd), errno
}
