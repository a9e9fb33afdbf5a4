//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"tune/internal/cpu/tiles"
)

// lostStatus is the exit status of a worker that could not answer because a candidate closed its descriptors.
const lostStatus = 121

// openFiles is the limit on file descriptors.
const openFiles = 64

// errNoDescriptor is why a worker did not receive the memory that tune sent.
var errNoDescriptor = fmt.Errorf("%d files are open, and no more may be: close what the calls open", openFiles)

// spareMemory is what the Go runtime and libc of a worker may map besides the candidate: stacks of threads, and heaps that are
// mostly just reserved.
const spareMemory = 256 << 20

// kernelThread is the name of the thread that calls candidates, as shown in listings of the process.
const kernelThread = "tune-kernel"

// child is the state of a worker process.
type child struct {
	order    order
	seq      uint64 // of the request that is being handled
	began    int64  // the second of its start
	baseline int64  // bytes of address space of the process at its start

	base      unsafe.Pointer // of the mapped buffers and their guards; nil where there are none
	span      int
	regions   []region
	addresses []unsafe.Pointer // of the regions

	caller  *caller  // nil where nothing is loaded
	ours    []string // the files that were mapped before any candidate
	free    uintptr  // the next address of the worker's own range; see mapOwn
	arena   arena
	watched bool

	harness  uintptr // the timing loop; 0 without one
	nothing  uintptr // a kernel that does nothing, of the same object
	contents int     // the number of variants in the pool
	whole    int     // how many of them, the first, are for whole stretches
	offsets  []int   // of the buffers in a variant; -1 for one that is only written
	fixed    []bool  // the buffers that never vary
	poolBase unsafe.Pointer
	poolSize int
	walk     walk // through the others
	stride   int  // bytes from one variant to the next
	area     evidenceArea
	evidence unsafe.Pointer // the area in shared memory
	prepared *prepared      // nil where no timing is prepared
	planner  planner
}

// serve is the worker's loop: it answers requests until tune closes the connection.
func serve(o order) {
	// A collection in the background would disturb measurements, and there is almost no garbage.
	debug.SetGCPercent(-1)
	// While a candidate runs, the runtime has nothing else to do. With one processor its monitor thread notices that at once and
	// sleeps; with more it first looks fifty times, every 20 µs (runtime.retake).
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(128 << 20)
	unix.CloseOnExec(workerControlFD)
	w := &child{order: o, began: time.Now().Unix()}
	// A system that reports the number of filters of a thread also tells a watcher when it has no thread left to watch; both came
	// with Linux 5.9.
	status, err := readFile("/proc/self/status")
	w.watched = err == nil && bytes.Contains(status, []byte("\nSeccomp_filters:"))
	if err := w.confine(); err != nil {
		w.answer(reply{Error: err.Error()})
		unix.Exit(1)
	}
	w.answer(reply{PID: os.Getpid(), Landlock: o.Landlock})
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(workerControlFD, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			unix.Exit(lostStatus)
		}
		if n == 0 {
			unix.Exit(0) // Tune closed the connection.
		}
		var q request
		if err := json.Unmarshal(buf[:n], &q); err != nil {
			w.answer(reply{Error: "a malformed request: " + err.Error()})
			continue
		}
		w.seq = q.Seq
		w.answer(w.handle(q, receivedFD(oob[:oobn])))
	}
}

func (w *child) answer(r reply) {
	r.Seq = w.seq
	text, err := json.Marshal(r)
	if err != nil {
		text, _ = json.Marshal(reply{Seq: w.seq, Error: err.Error()})
	}
	for {
		switch _, err := unix.Write(workerControlFD, text); err {
		case nil:
			return
		case unix.EINTR:
		default:
			unix.Exit(lostStatus)
		}
	}
}

func receivedFD(oob []byte) int {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}

// confine gives up everything that a kernel does not need.
func (w *child) confine() error {
	record, err := unix.MmapPtr(workerFaultFD, 0, nil, faultBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping the fault record: %w", err)
	}
	_ = unix.Close(workerFaultFD)
	if err := catchFaults(record); err != nil {
		return err
	}
	if err := setLimits(0, w.order.Limits); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: openFiles, Max: openFiles}); err != nil {
		return fmt.Errorf("limiting open files: %w", err)
	}
	haveCancelled()
	if w.baseline, err = addressSpace(); err != nil {
		return err
	}
	if err := w.limitMemory(); err != nil {
		return err
	}
	if err := w.loadHarness(); err != nil {
		return err
	}
	maps, err := readFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("reading /proc/self/maps: %w", err)
	}
	w.ours = mappedFiles(maps)
	// Where the system refuses, kernels that use tiles fail, and no others.
	_ = tiles.Request()
	return noProcesses(w.order.Tune)
}

// loadHarness loads the timing loop, and then seals all code that is loaded before any candidate, so that none of it can be
// overwritten.
func (w *child) loadHarness() error {
	if w.order.Harness == "" {
		return nil
	}
	handle, err := purego.Dlopen(w.order.Harness, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("loading the timing loop: %w", err)
	}
	for name, to := range map[string]*uintptr{"tune_harness": &w.harness, "tune_nothing": &w.nothing} {
		if *to, err = purego.Dlsym(handle, name); err != nil {
			return fmt.Errorf("loading the timing loop: %w", err)
		}
	}
	return sealCode()
}

// seal forbids changes to the protection and the place of memory, for as long as the process lives. Systems without mseal(2), which
// came with Linux 6.10, do without.
func seal(begin, size uintptr) unix.Errno {
	const mseal = 462 // on both architectures
	_, _, errno := unix.Syscall(mseal, begin, size, 0)
	return errno
}

// sealCode seals executable memory.
func sealCode() error {
	maps, err := readFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("reading /proc/self/maps: %w", err)
	}
	for line := range bytes.Lines(maps) {
		var begin, end uintptr
		var access string
		if n, _ := fmt.Sscanf(string(line), "%x-%x %s", &begin, &end, &access); n != 3 || !strings.Contains(access, "x") {
			continue
		}
		if seal(begin, end-begin) == unix.ENOSYS {
			return nil
		}
	}
	return nil
}

// addressSpace returns the bytes of address space that this process has mapped.
func addressSpace() (int64, error) {
	statm, err := readFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("reading /proc/self/statm: %w", err)
	}
	pages, err := strconv.ParseInt(string(statm[:max(bytes.IndexByte(statm, ' '), 0)]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/self/statm: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}

// own returns how many bytes the worker itself has mapped since its start.
func (w *child) own() int64 {
	return int64(w.span) + int64(w.arena.size) + int64(w.poolSize) + int64(w.arena.script.size) + int64(w.arena.reserved)
}

// memoryLeft reports whether candidates have left so much memory mapped that the next one would get less than its share.
func (w *child) memoryLeft() string {
	used, err := addressSpace()
	if err != nil || used-w.baseline-w.own() > spareMemory {
		return "memory"
	}
	return ""
}

// limitMemory limits the address space to what the worker itself has mapped plus the candidate's share. The hard limit stays
// unchanged, because the worker's own part grows.
func (w *child) limitMemory() error {
	if raceDetector {
		return nil
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &now); err != nil {
		return fmt.Errorf("reading the limit on memory: %w", err)
	}
	now.Cur = min(now.Max, uint64(w.baseline+spareMemory+w.own()+w.order.Limits.Memory))
	if err := unix.Setrlimit(unix.RLIMIT_AS, &now); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	return nil
}

// limitCPU limits how much more CPU time the process may use. Tune watches it more closely; this limit is for the case that tune
// cannot.
func limitCPU(more time.Duration) error {
	var usage unix.Rusage
	var now unix.Rlimit
	if err := errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &usage), unix.Getrlimit(unix.RLIMIT_CPU, &now)); err != nil {
		return fmt.Errorf("reading the limit on CPU time: %w", err)
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	now.Cur = min(now.Max, uint64((used+more)/time.Second)+2)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &now); err != nil {
		return fmt.Errorf("limiting CPU time: %w", err)
	}
	return nil
}

func (w *child) handle(q request, fd int) reply {
	fail := func(err error) reply { return reply{Error: err.Error()} }
	switch {
	case q.Map != nil:
		err := w.mapBuffers(*q.Map, fd)
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			return fail(err)
		}
		var r reply
		for _, a := range w.addresses {
			r.Addresses = append(r.Addresses, uint64(uintptr(a)))
		}
		return r
	case q.Pool != nil:
		err := w.mapPool(*q.Pool, fd)
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			return fail(err)
		}
		return reply{}
	case q.Load != nil:
		return w.load(q.Load.Path)
	}
	if w.caller == nil {
		return fail(errors.New("nothing is loaded"))
	}
	switch {
	case q.Unload:
		left := cmp.Or(w.unload(), w.memoryLeft())
		w.caller = nil
		w.arena.forget()
		return reply{Left: left}
	case q.Call != nil:
		if err := limitCPU(w.order.Limits.CPU); err != nil {
			return fail(err)
		}
		args := make([]unsafe.Pointer, 0, maxBuffers)
		for i, r := range w.regions {
			args = append(args, unsafe.Add(w.addresses[i], r.Start))
		}
		return reply{Spent: w.caller.call(args, q.Call.Dims).Seconds()}
	case q.Prepare != nil:
		if err := w.prepare(q.Prepare); err != nil {
			return fail(err)
		}
		return w.arenaReply()
	case q.Blind != nil:
		if err := w.prepareBlind(q.Blind); err != nil {
			return fail(err)
		}
		return w.arenaReply()
	case q.Keep:
		if err := w.keepBlind(); err != nil {
			return fail(err)
		}
		return reply{}
	case q.Sample:
		if err := w.sample(); err != nil {
			return fail(err)
		}
		return reply{}
	case q.Result:
		p := w.prepared
		if p == nil || !p.sampled || p.blind > 0 {
			return fail(errors.New("no timing has run"))
		}
		w.prepared = nil
		return p.plan.result(p.run, p.out)
	}
	return fail(errors.New("an empty request"))
}

// arenaReply says where the copies are.
func (w *child) arenaReply() reply {
	begin := uint64(uintptr(w.arena.base))
	return reply{Arena: [2]uint64{begin, begin + uint64(w.arena.size)}}
}

// mapPool maps the contents behind fd, read only, replacing those that were mapped.
func (w *child) mapPool(q poolRequest, fd int) error {
	w.arena.forget()
	w.prepared = nil
	if w.poolBase != nil {
		_ = unix.MunmapPtr(w.poolBase, uintptr(w.poolSize))
	}
	w.contents, w.whole, w.poolBase, w.poolSize = 0, q.Whole, nil, q.Size
	if err := w.limitMemory(); err != nil {
		return err
	}
	if fd < 0 {
		w.poolSize = 0
		return errNoDescriptor
	}
	base, err := w.mapOwn(fd, q.Size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		w.poolSize = 0
		return fmt.Errorf("mapping %d bytes of inputs: %w", q.Size, err)
	}
	w.poolBase, w.stride = base, q.Stride
	w.walk = newWalk(q.Count, q.Whole)
	w.contents, w.offsets, w.fixed = q.Count, q.Offsets, q.Fixed
	return nil
}

// variant returns the content of a buffer that is read. It loads nothing that depends on v: of many contents that would hardly ever be in a
// cache, and plans ask for one at each call.
func (w *child) variant(v, buffer int) unsafe.Pointer {
	return unsafe.Add(w.poolBase, v*w.stride+w.offsets[buffer])
}

// slots returns how many pieces of evidence there is room for.
func (w *child) slots() int { return w.area.Slots }

// evidenceOf returns where a buffer's content before or after a call is stored.
func (w *child) evidenceOf(slot, buffer int, after bool) unsafe.Pointer {
	return unsafe.Add(w.evidence, w.area.at(w.regions, slot, buffer, after))
}

// mapBuffers maps the memory behind fd, replacing what was mapped: each region between two guards, and after them the room for
// evidence.
func (w *child) mapBuffers(q mapRequest, fd int) error {
	w.arena.forget()
	w.prepared = nil
	if w.base != nil {
		if err := unix.MunmapPtr(w.base, uintptr(w.span)); err != nil {
			return fmt.Errorf("unmapping the buffers: %w", err)
		}
	}
	w.base, w.span, w.regions, w.addresses, w.area, w.evidence = nil, 0, q.Regions, nil, q.Evidence, nil
	span := 0
	for _, r := range q.Regions {
		span += r.Size + 2*guardBytes
	}
	span += q.Evidence.Size
	if span == 0 {
		return w.limitMemory()
	}
	if fd < 0 {
		return errNoDescriptor
	}
	w.span = span
	if err := w.limitMemory(); err != nil {
		return err
	}
	base, err := w.mapOwn(-1, span, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		w.span = 0
		return fmt.Errorf("reserving %d bytes for buffers: %w", span, err)
	}
	w.base = base
	at := base
	for _, r := range q.Regions {
		at = unsafe.Add(at, guardBytes)
		access := unix.PROT_READ
		if r.Mode != In {
			access |= unix.PROT_WRITE
		}
		if _, err := unix.MmapPtr(fd, int64(r.Offset), at, uintptr(r.Size), access, unix.MAP_SHARED|unix.MAP_FIXED|unix.MAP_POPULATE); err != nil {
			return fmt.Errorf("mapping a buffer of %d bytes: %w", r.Bytes, err)
		}
		w.addresses = append(w.addresses, at)
		at = unsafe.Add(at, r.Size+guardBytes)
	}
	if q.Evidence.Size > 0 {
		if _, err := unix.MmapPtr(fd, int64(q.Evidence.Offset), at, uintptr(q.Evidence.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			return fmt.Errorf("mapping %d bytes for evidence: %w", q.Evidence.Size, err)
		}
		w.evidence = at
	}
	return nil
}

// caller is a loaded candidate with the thread that calls it. Each candidate has its own thread, so that changes of rounding
// modes, signal masks and the like end with it.
type caller struct {
	jobs    chan func()
	done    chan struct{}
	thread  int
	handle  uintptr
	kernel  uintptr
	path    string
	before  condition      // of the process, before it was loaded
	scratch unsafe.Pointer // the arguments of a call; not in Go's heap, because C accesses it
}

const scratchBytes = 8 * (maxBuffers + maxDims)

func (w *child) load(path string) reply {
	if w.caller != nil {
		return reply{Error: "a candidate is loaded already"}
	}
	if err := limitCPU(w.order.Limits.CPU); err != nil {
		return reply{Error: err.Error()}
	}
	c := newCaller()
	c.path, c.before = path, w.condition()
	scratch, err := unix.MmapPtr(-1, 0, nil, uintptr(roundUp(scratchBytes, os.Getpagesize())), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return reply{Error: "allocating a call's arguments: " + err.Error()}
	}
	c.scratch = scratch
	if err := w.admit(c); err != nil {
		return reply{Error: err.Error()}
	}
	// The constructors of the object run in here, so tune must know the thread before.
	w.answer(reply{Thread: c.thread})
	var refused error
	var sharing bool
	c.do(func() {
		if c.handle, refused = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL); refused != nil {
			return
		}
		if c.kernel, refused = purego.Dlsym(c.handle, "tune_kernel"); refused != nil {
			refused = errors.New("it defines no function tune_kernel")
			return
		}
		_, err := purego.Dlsym(c.handle, sharingRuntime)
		sharing = err == nil
	})
	if refused != nil {
		return reply{Refused: strings.TrimPrefix(refused.Error(), path+": ")}
	}
	w.caller = c
	return reply{Sharing: sharing}
}

// sharingRuntime is a function of the OpenMP runtime of LLVM and of Intel's, whatever its file is called. Many versions end the process
// if they cannot make shared memory in /dev/shm, by which they recognise each other.
const sharingRuntime = "__kmpc_fork_call"

func newCaller() *caller {
	c := &caller{jobs: make(chan func()), done: make(chan struct{})}
	go c.run()
	return c
}

// admit prepares the thread of a caller for running code of a candidate.
func (w *child) admit(c *caller) (err error) {
	listener := -1
	c.do(func() {
		c.thread = unix.Gettid()
		if w.order.Core >= 0 {
			err = pin(0, w.order.Core)
		}
		name := append([]byte(kernelThread), 0)
		err = errors.Join(err, unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0))
		if err == nil {
			listener, err = w.fence()
		}
	})
	if listener >= 0 {
		go w.watch(listener)
	}
	return err
}

func (c *caller) run() {
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	for f := range c.jobs {
		f()
		c.done <- struct{}{}
	}
}

// do runs f on the candidate's thread.
func (c *caller) do(f func()) {
	c.jobs <- f
	<-c.done
}

// end ends the thread, and reports whether it is gone.
func (c *caller) end() bool {
	close(c.jobs)
	task := "/proc/self/task/" + strconv.Itoa(c.thread)
	for begin := time.Now(); time.Since(begin) < time.Second; {
		if unix.Access(task, unix.F_OK) != nil {
			return true
		}
		// That takes time on a machine with more work than cores, and even more where the candidate has lowered the thread's
		// priority.
		pause(50 * time.Microsecond)
	}
	return false
}

// unload closes the object and says what the candidate left behind, "" for nothing. Tune counts the threads itself.
func (w *child) unload() string {
	c := w.caller
	// The thread ends first: C code of the object may run at its end. The same holds for closing the object.
	if !c.end() {
		return "its thread"
	}
	last := newCaller()
	if err := w.admit(last); err != nil {
		return "no thread to unload it on: " + err.Error()
	}
	var err error
	last.do(func() { err = purego.Dlclose(c.handle) })
	if err != nil {
		return "its library: " + err.Error()
	}
	if !last.end() {
		return "the thread that unloaded it"
	}
	if err := unix.MunmapPtr(c.scratch, uintptr(roundUp(scratchBytes, os.Getpagesize()))); err != nil {
		return "its arguments: " + err.Error()
	}
	if len(madeMemory(os.Getpid(), w.began)) > 0 {
		return "shared memory"
	}
	// Memory that the candidate has locked would count for the next candidate.
	if err := unix.Munlockall(); err != nil {
		return "locked memory: " + err.Error()
	}
	maps, err := readFile("/proc/self/maps")
	if err != nil || bytes.Contains(maps, []byte(c.path)) {
		return "its library, which cannot be unloaded"
	}
	if slices.ContainsFunc(mappedFiles(maps), func(path string) bool { return !slices.Contains(w.ours, path) && !isRuntime(path) }) {
		return "a library that it needs, which cannot be unloaded"
	}
	if what := w.missing(parseMaps(maps)); what != "" {
		return what
	}
	return c.before.changed(w.condition())
}

// pause sleeps, names lists a directory, and readFile reads a file, without packages that would start the poller of the Go
// runtime: that opens files, and the worker would die when a candidate closes them.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // waking early does no harm
}

func names(dir string) (list []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return list
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var text []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return text, err
		}
		text = append(text, buf[:n]...)
	}
}

// call calls the kernel once on the buffers at the given addresses, and returns the CPU time of its thread.
func (c *caller) call(args []unsafe.Pointer, dims []int64) (took time.Duration) {
	table := unsafe.Slice((*unsafe.Pointer)(c.scratch), maxBuffers)
	sizes := c.dims()
	copy(table, args)
	copy(sizes, dims)
	c.do(func() {
		soilStack()
		start := clockOf(CPU)
		purego.SyscallN(c.kernel, uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&sizes[0])))
		took = clockOf(CPU) - start
	})
	return took
}

func (c *caller) dims() []int64 {
	return unsafe.Slice((*int64)(unsafe.Add(c.scratch, 8*maxBuffers)), maxDims)
}
