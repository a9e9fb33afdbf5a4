//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// condition is the state of a process that a candidate could change for the next one, as far as the process itself sees it.
type condition struct {
	files       []string // the open ones: their numbers and what they refer to
	environment string
	handlers    [signals]sigaction
	scratch     bool // something is in the scratch folder
}

// signals is the number of signals.
const signals = 64

func (w *child) condition() condition {
	c := condition{files: openDescriptors(), environment: environment()}
	for i := range c.handlers {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(i+1), 0, uintptr(unsafe.Pointer(&c.handlers[i])), unsafe.Sizeof(c.handlers[i].mask), 0, 0)
	}
	c.scratch = w.order.Scratch != "" && len(names(w.order.Scratch)) > 0
	return c
}

// changed says what has changed, "" for nothing.
func (c condition) changed(now condition) string {
	switch {
	case !slices.Equal(c.files, now.files):
		return "open files"
	case c.environment != now.environment:
		return "environment variables"
	case c.handlers != now.handlers:
		return "signal handlers"
	case now.scratch:
		return "files in its folder"
	}
	return ""
}

// openDescriptors returns the open descriptors and what they refer to, except the one that it uses for that.
func openDescriptors() []string {
	const folder = "/proc/self/fd"
	var list []string
	for _, name := range names(folder) {
		// The watcher closes its own some time after the last thread that it watches is gone.
		if to, err := os.Readlink(filepath.Join(folder, name)); err == nil && to != "anon_inode:seccomp notify" {
			list = append(list, name+" "+to)
		}
	}
	slices.Sort(list)
	return list
}

// environment returns the environment of C, which is separate from Go's. Candidates change it for their libraries.
func environment() string {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "environ")
	if err != nil {
		return ""
	}
	list := **(**unsafe.Pointer)(unsafe.Pointer(&address))
	var b strings.Builder
	for ; list != nil && *(*unsafe.Pointer)(list) != nil; list = unsafe.Add(list, unsafe.Sizeof(list)) {
		b.WriteString(unix.BytePtrToString(*(**byte)(list)))
		b.WriteByte(0)
	}
	return b.String()
}

// mapping is a range of address space of one kind.
type mapping struct {
	begin, end uint64
	access     string // as in "rw-s"
}

// parseMaps reads /proc/PID/maps.
func parseMaps(text []byte) (list []mapping) {
	for line := range bytes.Lines(text) {
		bounds, rest, _ := strings.Cut(string(line), " ")
		from, to, _ := strings.Cut(bounds, "-")
		begin, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil && len(rest) >= 4 {
			list = append(list, mapping{begin, end, rest[:4]})
		}
	}
	return list
}

// mappedFiles returns the files that a text of /proc/PID/maps names, each once.
func mappedFiles(text []byte) (paths []string) {
	for line := range bytes.Lines(text) {
		// The path follows five fields, and may contain spaces.
		if _, path, found := bytes.Cut(line, []byte(" /")); found {
			if name := "/" + string(bytes.TrimSuffix(path, []byte("\n"))); !slices.Contains(paths, name) {
				paths = append(paths, name)
			}
		}
	}
	return paths
}

// runtimes are the libraries of compilers and of C. They stay once they are loaded, and keep nothing of what a candidate computes.
var runtimes = []string{
	"ld", "libc", "libm", "libmvec", "libdl", "librt", "libpthread", "libgcc_s", "libstdc++", "libc++", "libc++abi", "libunwind", "libatomic", "libquadmath",
	"libgomp", "libomp", "libiomp5",
}

// isRuntime reports whether a file is one of runtimes, of whatever version, or memory that only looks like a file.
func isRuntime(path string) bool {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	name, _, _ = strings.Cut(name, "-") // ld-linux-x86-64.so.2, libm-2.31.so
	return slices.Contains(runtimes, name) || strings.HasPrefix(path, "/memfd:") || strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/SYSV")
}

// mapped reports whether all of a range is mapped with the given access. The list is sorted, as the system returns it.
func mapped(list []mapping, begin, end uint64, access string) bool {
	for _, m := range list {
		if m.begin <= begin && begin < m.end && m.access == access {
			begin = m.end
		}
	}
	return begin >= end
}

// missing names the mapping needed by the worker that a candidate has removed or changed, "" for none.
func (w *child) missing(list []mapping) string {
	if a := uint64(uintptr(w.arena.base)); w.arena.base != nil && !mapped(list, a, a+uint64(w.arena.size), "rw-p") {
		return "a hole in the memory that it was timed on"
	}
	for i, r := range w.regions {
		access := "rw-s"
		if r.Mode == In {
			access = "r--s"
		}
		if a := uint64(uintptr(w.addresses[i])); !mapped(list, a, a+uint64(r.Size), access) {
			return "a hole in its buffers"
		}
	}
	return ""
}

// outlook is what tune sees of a worker from outside: the ids of its threads, and the state of each in /proc.
type outlook map[int]thread

type thread struct {
	filters string // how many seccomp filters it has; "" where the system does not say
	state   string // what a candidate could change
}

// The lines of /proc/PID/status that a candidate could change for the next one. Handlers are compared by the worker.
var statusLines = []string{"Umask:", "NoNewPrivs:", "CoreDumping:", "THP_enabled:", "Cpus_allowed:", "Mems_allowed:"}

// look returns the outlook of a process, and whether every thread is in it. The system cuts the list of threads short when one of them
// ends while it is read. Such a thread is gone when its status is asked for, so fewer threads are found than were counted before.
func look(pid int) (o outlook, whole bool) {
	o = outlook{}
	process := "/proc/" + strconv.Itoa(pid)
	folder := process + "/task"
	before, _ := readStat(process + "/stat")
	for _, name := range names(folder) {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := readFile(folder + "/" + name + "/status")
		if err != nil {
			continue // it has ended in the meantime
		}
		var t thread
		for line := range strings.Lines(string(text)) {
			if value, found := strings.CutPrefix(line, "Seccomp_filters:"); found {
				t.filters = strings.TrimSpace(value)
			} else if slices.ContainsFunc(statusLines, func(p string) bool { return strings.HasPrefix(line, p) }) {
				t.state += line
			}
		}
		o[tid] = t
	}
	after, _ := readStat(process + "/stat")
	return o, before.threads == len(o) && after.threads == len(o)
}

// strangers returns the threads that a candidate has left: those that were not there before. The worker's own runtime may start a
// thread at any time; such a thread has no more filters than the main thread, which a candidate's thread cannot achieve.
func (o outlook) strangers(before outlook, pid int) (list []int) {
	for tid, t := range o {
		if _, known := before[tid]; !known && (t.filters == "" || t.filters != o[pid].filters) {
			list = append(list, tid)
		}
	}
	return list
}

// changed reports whether any thread that was there before has changed.
func (o outlook) changed(before outlook) bool {
	now := maps.Clone(before)
	for tid := range before {
		if t, there := o[tid]; there {
			now[tid] = t
		}
	}
	return !maps.Equal(now, before)
}
