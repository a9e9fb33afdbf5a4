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
// cannot tell whose memory an id names, nor how much a process has made already that no limit counts, and libraries take memory in large
// pages by shmget.

const seccompNotify = 0x7fc00000

// watchRules come before the other rules where there is a watcher.
func watchRules() []rule {
	return []rule{
		permit(unix.SYS_SCHED_SETAFFINITY, is(0, 0)),
		{call: unix.SYS_SCHED_SETAFFINITY, answer: seccompNotify},
		// Memory with a key would be shared with other processes.
		{call: unix.SYS_SHMGET, answer: seccompNotify, tests: []test{is(0, unix.IPC_PRIVATE)}},
		// It would replace what is mapped.
		trap(unix.SYS_SHMAT, holds(2, shmRemap)),
		{call: unix.SYS_SHMAT, answer: seccompNotify},
		{call: unix.SYS_SHMCTL, answer: seccompNotify},
		{call: unix.SYS_MMAP, answer: seccompNotify, tests: []test{{arg: 3, and: mapType, value: unix.MAP_SHARED}}},
		{call: unix.SYS_MMAP, answer: seccompNotify, tests: []test{{arg: 3, and: mapType, value: unix.MAP_SHARED_VALIDATE}}},
		{call: unix.SYS_MEMFD_CREATE, answer: seccompNotify},
	}
}

// shmRemap is a flag of shmat.
const shmRemap = 0o40000

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

// watcher answers the questions of the filter of one candidate.
type watcher struct {
	w     *child
	files int // in memory, that it has let the candidate make
}

// mostMemoryFiles is how many files in memory a candidate may make. No limit counts what they hold while a part of each is mapped, but each
// may have Limits.File bytes at most.
const mostMemoryFiles = 64

// watch answers the questions of the filter with this listener, until the last thread that has the filter is gone.
func (w *child) watch(listener int) {
	defer unix.Close(listener)
	by := &watcher{w: w}
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
		v := by.answer(n)
		v.id = n.id
		_ = notifyIoctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&v))
	}
}

// answer returns the answer to a question of the filter. For a call that is refused, it ends the worker. Where the watcher makes the call itself,
// no other thread can change meanwhile what has been looked up.
func (by *watcher) answer(n notice) verdict {
	pass := verdict{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	id := int(int32(n.arguments[0]))
	switch n.call {
	case unix.SYS_SHMGET:
		return by.makeMemory(n.arguments[1], int(int32(n.arguments[2])))
	case unix.SYS_MMAP:
		return mapShared(n.arguments)
	case unix.SYS_MEMFD_CREATE:
		if by.files++; by.files > mostMemoryFiles {
			return verdict{errno: -int32(unix.EMFILE)}
		}
		return pass
	case unix.SYS_SCHED_SETAFFINITY:
		if !foreignThread(id) {
			return pass
		}
	default:
		if slices.ContainsFunc(madeMemory(os.Getpid(), by.w.began), func(m sharedByID) bool { return m.id == id }) {
			return pass
		}
	}
	refuseHere(int64(n.call))
	return pass
}

// makeMemory makes shared memory without a key, within the limit on memory: what is made so counts for it even while nobody has mapped it.
func (by *watcher) makeMemory(size uint64, flags int) verdict {
	left := uint64(by.w.order.Limits.Memory)
	for _, m := range madeMemory(os.Getpid(), by.w.began) {
		left -= min(m.bytes, left)
	}
	if size > left {
		return verdict{errno: -int32(unix.ENOMEM)}
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, int(size), flags)
	if errno, ok := err.(unix.Errno); ok {
		return verdict{errno: -int32(errno)}
	}
	return verdict{value: int64(id)}
}

// mapType are the flags of mmap that say with whom the memory is shared.
const mapType = 0x0f

// mapShared maps memory that a process could share. Where it is of no file, it becomes private, which is the same in a process that can start no
// other one. If it were shared, all of it would stay, and count for no limit, as long as one page of it is mapped. The device zero has such memory too.
func mapShared(arguments [6]uint64) verdict {
	flags, file := uintptr(arguments[3]), int(int32(arguments[4]))
	private := flags&unix.MAP_ANONYMOUS != 0
	if !private {
		// A file of its own, because another thread might put another one in its place.
		own, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 0)
		if errno, ok := err.(unix.Errno); ok {
			return verdict{errno: -int32(errno)}
		}
		defer unix.Close(own)
		var s unix.Stat_t
		zero := unix.Mkdev(1, 5)
		private, file = unix.Fstat(own, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFCHR && uint64(s.Rdev) == zero, own
	}
	if private {
		flags, file = flags&^mapType|unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1
	}
	address, _, errno := unix.Syscall6(unix.SYS_MMAP, uintptr(arguments[0]), uintptr(arguments[1]), uintptr(arguments[2]), flags, uintptr(file), uintptr(arguments[5]))
	return verdict{value: int64(address), errno: -int32(errno)}
}

// foreignThread reports whether a thread of another process has the id. If there is no such thread, the system itself reports that.
func foreignThread(id int) bool {
	thread := strconv.Itoa(id)
	return unix.Access("/proc/self/task/"+thread, unix.F_OK) != nil && unix.Access("/proc/"+thread, unix.F_OK) == nil
}

// sharedByID is shared memory with an id.
type sharedByID struct {
	id    int
	bytes uint64
}

// madeMemory returns the shared memory that a process which began at the given second has made, without a key.
func madeMemory(pid int, began int64) (list []sharedByID) {
	text, err := readFile("/proc/sysvipc/shm")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		var key, id, access, creator, last, attached int
		var bytes uint64
		n, _ := fmt.Sscan(line, &key, &id, &access, &bytes, &creator, &last, &attached)
		if n < 7 || key != unix.IPC_PRIVATE || creator != pid {
			continue
		}
		// Another process may have had the same number before.
		var d unix.SysvShmDesc
		if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err == nil && d.Ctime >= began {
			list = append(list, sharedByID{id, bytes})
		}
	}
	return list
}

// removeMemory removes the shared memory that a process has made and left. It would stay until the system ends.
func removeMemory(pid int, began int64) {
	for _, m := range madeMemory(pid, began) {
		_, _ = unix.SysvShmCtl(m.id, unix.IPC_RMID, nil)
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
	first, rules := ownMemoryRules(), candidateRules(w.order.Landlock, w.order.Sharing, own)
	if w.watched {
		if fd, errno := setFilter(assemble(slices.Concat(first, watchRules(), rules), seccompAllow), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER); errno == 0 {
			return fd, nil
		}
	}
	if _, errno := setFilter(assemble(slices.Concat(first, rules), seccompAllow), 0); errno != 0 {
		return -1, fmt.Errorf("this system refuses a seccomp filter, so that native code cannot be isolated: %w", errno)
	}
	return -1, nil
}

func setFilter(program []unix.SockFilter, flags uintptr) (int, unix.Errno) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	return int(fd), errno
}
