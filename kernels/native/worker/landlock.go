//go:build linux && (amd64 || arm64)

package worker

import (
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Lacks lists, as sentences, the means of isolating candidates that this system lacks.
func Lacks() []string { return lacks(landlockVersion()) }

// lacks returns the list for a version of Landlock. It leaves out what the filter of system calls forbids anyway: changes to
// files, signals, connections.
func lacks(landlock int) []string {
	list := []string{}
	for _, l := range []struct {
		since int
		text  string
	}{
		{1, "a kernel may read the memory of your other processes, as a debugger does: that takes Landlock (Linux 5.13)"},
		{landlockTruncate, "a kernel has no folder that it may write to: that takes Landlock 3 (Linux 6.2)"},
		{landlockDevices, "a kernel may send commands to devices that you may open, such as a terminal: refusing them takes Landlock 5 (Linux 6.10)"},
	} {
		if landlock < l.since {
			list = append(list, l.text)
		}
	}
	return list
}

// The versions of Landlock that introduced the features used here; see landlock(7).
const (
	landlockRefer    = 2
	landlockTruncate = 3
	landlockNetwork  = 4
	landlockDevices  = 5
	landlockScopes   = 6
)

// landlockVersion returns the version of Landlock that the system has, 0 for none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// The rights to change files: those for files, and further ones for folders.
const (
	writeRights  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	folderRights = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// devices are the files under /dev that kernels may write to: those that store nothing, and accelerators.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/dri/*", "/dev/kfd", "/dev/nvidia*", "/dev/accel/*"}

// enclose puts the calling thread, and everything that it starts later, in a Landlock domain. Inside, files can be read, but only
// the scratch folder can be changed, and shared memory where sharing is set. TCP connections, signals out of the domain and access to
// the memory of outside processes are refused. It returns the version of Landlock, 0 where that is missing.
func enclose(scratch string, sharing bool) int {
	version := landlockVersion()
	if version == 0 {
		return 0
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: writeRights | folderRights}
	files := uint64(writeRights)
	if version >= landlockRefer {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= landlockTruncate {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	folders := attributes.Handled_access_fs
	if version >= landlockNetwork {
		attributes.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= landlockDevices {
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= landlockScopes {
		attributes.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return 0
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	if scratch != "" {
		allow(ruleset, scratch, folders)
	}
	if sharing {
		allow(ruleset, "/dev/shm", folders&(writeRights|unix.LANDLOCK_ACCESS_FS_MAKE_REG|unix.LANDLOCK_ACCESS_FS_REMOVE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE))
	}
	for _, pattern := range devices {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		for _, device := range found {
			allow(ruleset, device, files)
		}
	}
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return 0
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return 0
	}
	return version
}

// allow grants a right beneath a path. Where that fails, the path stays as closed as the rest.
func allow(ruleset int, path string, rights uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, _ = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
}
