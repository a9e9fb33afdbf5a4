//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tune/internal/files"
	"tune/kernels"
	"tune/space"
)

// startLimit limits the start of a worker, and everything that it does without a candidate.
const startLimit = 30 * time.Second

// unloadLimit limits what a candidate does at its end. The next candidate is waiting for it.
const unloadLimit = 2 * time.Second

// endsSoon is how long a candidate usually takes at its end at most.
const endsSoon = 500 * time.Millisecond

// clinging are the paths of the objects that took longer at their end, in any worker of this process.
var clinging sync.Map

// pollInterval is the interval at which a running call is checked. The answer itself is not polled for.
const pollInterval = 25 * time.Millisecond

// Worker is tune's side of a worker. It is used by one goroutine at a time.
type Worker struct {
	ctx     context.Context // of Start
	options Options
	limits  Limits
	running *instance     // nil between the end of one process and the start of the next
	memory  *memory       // nil before Map
	pool    *Pool         // of the mapped buffers; nil where there is one content
	maps    int           // how often Map was called
	kept    []*memory     // made by Map, the most recently used first
	took    time.Duration // of the last call
	loaded  bool
	shared  bool // the last candidate was loaded into a process in which others had run
	sharing bool // the last candidate needs a process that may write to /dev/shm
	closed  bool
}

// instance is one worker process.
type instance struct {
	*process
	control   *net.UnixConn
	record    *os.File
	shared    []byte // the fault record
	seq       uint64
	buf       []byte
	scratch   string   // the folder that it may write to; "" where it has none
	landlock  int      // the version that encloses it
	candidate bool     // whether code of the loaded candidate may have run in it
	ran       string   // the first object that was loaded into it; "" before
	others    bool     // whether another object was loaded too
	outlook   outlook  // before the candidate was loaded
	thread    int      // that the candidate is called on; 0 where none is loaded
	rest      rest     // what it does while nothing is asked of it
	all       accepted // its timings since the candidate was loaded
	missed    int      // consecutive polls that did not find the thread
	halted    int      // consecutive polls that found it stopped
	resting   bool     // whether tune has stopped it; see Options.Halt
	memory    *memory  // that it has mapped
	current   bool     // whether it has mapped that since it loaded the candidate
	pool      *Pool    // that it has mapped
	maps      int      // the number of the last Map that it was told of
	bases     []uint64 // the addresses of the buffers
	arena     [2]uint64
}

// errNothingLoaded says that the caller did not call Load, or continued after a failure.
var errNothingLoaded = errors.New("the worker has loaded nothing")

// Start starts a worker. It fails where native code cannot be isolated. When ctx is done, Map and Load fail; the worker lives
// until Close.
func Start(ctx context.Context, options Options) (*Worker, error) {
	if err := options.Limits.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("worker: reading the allowed cores: %w", err)
	}
	if options.Core >= 0 && !allowed.IsSet(options.Core) {
		return nil, fmt.Errorf("worker: core %d is not one of those that this process may use", options.Core)
	}
	w := &Worker{ctx: ctx, options: options, limits: options.Limits.orElse(DefaultLimits())}
	if err := w.start(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// start starts a process.
func (w *Worker) start(ctx context.Context) (err error) {
	n := &instance{buf: make([]byte, maxMessage)}
	control, theirs, err := socketPair("control")
	if err != nil {
		return err
	}
	n.control = control
	defer theirs.Close()
	// The files are closed here if the start fails before the instance belongs to w.
	fail := func(err error) error {
		_ = control.Close()
		if n.shared != nil {
			_ = unix.Munmap(n.shared)
			_ = n.record.Close()
		}
		n.removeScratch()
		return fmt.Errorf("worker: %w", err)
	}
	if n.record, n.shared, err = sharedMemory("tune-fault", faultBytes); err != nil {
		return fail(err)
	}
	out, err := newOutput(w.limits.Output)
	if err != nil {
		return fail(err)
	}
	// Each candidate is called by a thread of its own, and the allocator of the C library would reserve 64 MiB for each of these;
	// that could not be distinguished from what a candidate left behind.
	env := append(os.Environ(), "MALLOC_ARENA_MAX=2")
	if w.options.Harness == "" { // it times nothing
		env = append(env, soilHeap)
	}
	o := order{Limits: w.limits, Core: w.options.Core, Harness: w.options.Harness, Open: w.options.open, Sharing: w.sharing}
	if landlockVersion() >= landlockTruncate && !o.Open {
		// A lack of room for a folder is no reason to fail: kernels then cannot write any file.
		if n.scratch, err = os.MkdirTemp("", "tune-worker-"); err == nil {
			o.Scratch, env = n.scratch, append(env, "TMPDIR="+n.scratch)
		}
	}
	n.process, err = startProcess(w.options.Executable, o, env, "", nil, out, theirs, n.record)
	if err != nil {
		out.discard()
		return fail(err)
	}
	// A supervisor that fails holds the connection open only as long as it lives.
	_ = theirs.Close()
	w.running = n
	hello, err := w.receive(ctx, 0, startLimit, startLimit)
	if err != nil {
		w.stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n.failure != nil {
			err = n.failure
		}
		if _, text := out.texts(); text != "" {
			err = fmt.Errorf("%w: %s", err, lastWords(text))
		}
		return fmt.Errorf("starting a worker: %w", err)
	}
	n.landlock = hello.Landlock
	return nil
}

func (n *instance) removeScratch() {
	if n.scratch != "" {
		_ = os.RemoveAll(n.scratch) // the supervisor does this too; usually nothing is left
	}
}

// stop ends the process, if there is one, and all its descendants.
func (w *Worker) stop() {
	n := w.running
	w.running, w.loaded = nil, false
	if n == nil {
		return
	}
	n.kill()
	_ = n.control.Close()
	_ = n.record.Close()
	_ = unix.Munmap(n.shared)
	n.removeScratch()
}

// Close ends the worker and all its processes. The views that Outputs returned are no longer valid.
func (w *Worker) Close() error {
	w.stop()
	for _, m := range w.kept {
		m.close()
	}
	w.memory, w.kept = nil, nil
	w.closed = true
	return nil
}

// Unload unloads the candidate, so that none of its code runs while the worker is idle. Where it leaves a thread, or anything else,
// the process ends.
func (w *Worker) Unload() { w.unload(w.ctx) }

// Renew makes the next Load use a fresh process, for instance for a final measurement. One that has loaded nothing yet is fresh. So
// is one that has loaded only the object at the path but; "" stands for none.
func (w *Worker) Renew(but string) {
	if n := w.running; n != nil && n.ran != "" && (n.others || n.ran != but) {
		w.stop()
	}
}

// Shared reports whether the last candidate was loaded into a process in which others had run. They may have harmed it unnoticed,
// for instance by writing past the end of a heap block. So a failure there counts only if it is repeated in a fresh process (see
// [Worker.Renew]).
func (w *Worker) Shared() bool { return w.shared }

// Map sets the buffers of the following calls. Inputs holds the content of In and InOut buffers; those of Out buffers are
// ignored. The inputs must not change until the next Map. A loaded candidate stays loaded. The process is told when it needs the
// buffers, because it may be one that the last candidate has harmed.
func (w *Worker) Map(buffers []Buffer, inputs [][]byte) error {
	if w.closed {
		return errors.New("the worker is closed")
	}
	w.pool = nil
	// A problem has a few cases that each candidate uses in turn: making new shared memory for each of them would cost more than
	// copying the inputs.
	if i := slices.IndexFunc(w.kept, func(m *memory) bool { return slices.Equal(m.buffers, buffers) }); i >= 0 {
		if err := checkInputs(buffers, inputs); err != nil {
			return err
		}
		m := w.kept[i]
		w.kept = slices.Insert(slices.Delete(w.kept, i, i+1), 0, m)
		m.setInputs(inputs)
		w.memory = m
	} else {
		m, err := newMemory(buffers, inputs)
		if err != nil {
			return err
		}
		w.kept = slices.Insert(w.kept, 0, m)
		w.memory = m
	}
	w.evict()
	w.maps++
	return nil
}

// evict closes memories that have not been used for long.
func (w *Worker) evict() {
	const most, mostBytes = 16, 1 << 30
	bytes := 0
	for i, m := range w.kept {
		if bytes += len(m.data); i > 0 && (i >= most || bytes > mostBytes) {
			for _, old := range w.kept[i:] {
				old.close()
			}
			w.kept = w.kept[:i]
			return
		}
	}
}

// share passes the buffers to the process if Map was called since. It does so even if the process has them, because its copies
// for timing are then of other inputs.
func (w *Worker) share(ctx context.Context) error {
	n := w.running
	if w.memory == nil || n.maps == w.maps {
		return nil
	}
	n.memory, n.maps, n.bases, n.arena = nil, w.maps, nil, [2]uint64{}
	r, err := w.ask(ctx, request{Map: &mapRequest{w.memory.regions, w.memory.evidence}}, w.memory.file, startLimit, startLimit)
	if err != nil {
		return err
	}
	n.memory, n.bases, n.current = w.memory, r.Addresses, true
	return nil
}

// Outputs returns views of all buffers, in order, as the last call left them. They are valid until the next Map or Close.
func (w *Worker) Outputs() [][]byte {
	if w.memory == nil {
		return nil
	}
	return slices.Clone(w.memory.views)
}

// Load loads the candidate at the absolute path so, replacing the one that is loaded. It uses a fresh process where the last one
// was harmed or not left clean. A candidate that cannot be loaded, or that fails during that, is a *kernels.Rejection. Load may
// be called before or after Map.
func (w *Worker) Load(so string) error {
	ctx := w.ctx
	if w.closed {
		return errors.New("the worker is closed")
	}
	if _, err := os.Stat(so); err != nil {
		return fmt.Errorf("loading a candidate: %w", err)
	}
	w.unload(ctx)
	sharing, err := w.load(ctx, so)
	if err == nil && sharing != w.sharing {
		// What a process may write is decided at its start.
		w.stop()
		w.sharing = sharing
		_, err = w.load(ctx, so)
	}
	return err
}

// load loads the object into a process, and reports whether it needs one that may write to /dev/shm.
func (w *Worker) load(ctx context.Context, so string) (sharing bool, err error) {
	if err := w.begin(ctx, so); err != nil {
		return false, err
	}
	// The first answer names the thread; the second one comes when the object's constructors have run.
	n := w.running
	n.candidate = true
	n.others = n.others || n.ran != "" && n.ran != so
	n.ran, w.shared = so, n.others
	n.current, n.rest, n.all = false, rest{}, accepted{} // another candidate may have harmed the mapping
	r, err := w.receive(ctx, n.seq, w.limits.Wall, w.limits.CPU)
	if err != nil {
		return false, err
	}
	if r.Refused != "" {
		w.stop()
		return false, kernels.Reject(space.CompileFailed, "cannot be loaded: %s", r.Refused)
	}
	w.loaded = true
	w.halt()
	return r.Sharing, nil
}

// halt stops the process until something is asked of it, where the options say so.
func (w *Worker) halt() {
	if n := w.running; w.options.Halt && n != nil && n.candidate {
		n.resting = unix.Kill(n.pid, unix.SIGSTOP) == nil
	}
}

// resume continues a process that halt has stopped.
func (n *instance) resume() {
	if n.resting {
		_ = unix.Kill(n.pid, unix.SIGCONT)
		n.resting = false
	}
}

// begin asks a process to load the object, and returns when the process is about to run its code. Where that fails in a process
// in which a candidate has run, the process was harmed, and another one is asked. Where it fails in a fresh one, tune has failed.
func (w *Worker) begin(ctx context.Context, so string) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.running == nil {
			if err := w.start(ctx); err != nil {
				return err
			}
		}
		n := w.running
		n.output.restart()
		if n.outlook == nil {
			n.outlook, _ = look(n.pid) // a thread that is missing here has the filters of tune's own
		}
		err := w.share(ctx)
		if err == nil {
			_, err = w.ask(ctx, request{Load: &loadRequest{Path: so}}, nil, startLimit, startLimit)
		}
		if err == nil {
			return nil
		}
		w.stop()
		if n.ran == "" {
			return err
		}
	}
}

// unload unloads the candidate. A failure costs the process and nothing else. A candidate that took long at its end, as one whose destructor
// never returns, is not asked to unload again.
func (w *Worker) unload(ctx context.Context) {
	n := w.running
	if n == nil || !n.candidate {
		return
	}
	if _, clings := clinging.Load(n.ran); clings || !w.loaded {
		w.stop()
		return
	}
	n.thread = 0
	began := time.Now()
	r, err := w.ask(ctx, request{Unload: true}, nil, min(w.limits.Wall, unloadLimit), w.limits.CPU)
	w.loaded = false
	if err != nil || r.Left != "" || n.changed() {
		if time.Since(began) > endsSoon {
			clinging.Store(n.ran, true)
		}
		w.stop()
		return
	}
	n.candidate = false
}

// changed reports whether the unloaded candidate has left threads, or has changed the other threads. A thread that is left runs code
// that is no longer there, so it may end the process before anybody looks.
func (n *instance) changed() bool {
	// A thread that has been joined may still be visible for a moment; on a busy machine, until it gets the core to end on.
	for range 200 {
		now, whole := look(n.pid)
		if len(now) == 0 {
			return true
		}
		if whole && len(now.strangers(n.outlook, n.pid)) == 0 {
			changed := now.changed(n.outlook)
			n.outlook = now
			return changed
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// Call calls the candidate once. Before that, Out buffers are filled with NaNs and InOut buffers with their inputs. Where the
// candidate is at fault the error is a *kernels.Rejection; the candidate is then unloaded, unless it only wrote around its
// buffers.
func (w *Worker) Call(ctx context.Context, dims []int64) error {
	return w.CallWithin(ctx, dims, w.limits.CPU)
}

// CallAgain is Call over Out buffers with other content. See Unwritten.
func (w *Worker) CallAgain(ctx context.Context, dims []int64) error {
	return w.callOver(ctx, otherPoison, dims, w.limits.CPU)
}

// CallWithin is Call with a separate limit on CPU time, where that is less than the worker's. On a shared machine, what takes little CPU
// time may take long: the wall time may be twice that and some seconds more.
func (w *Worker) CallWithin(ctx context.Context, dims []int64, cpu time.Duration) error {
	return w.callOver(ctx, poison, dims, cpu)
}

// callOver calls the candidate with Out buffers that hold a pattern.
func (w *Worker) callOver(ctx context.Context, pattern []byte, dims []int64, cpu time.Duration) error {
	if len(dims) > maxDims {
		return fmt.Errorf("%d dimensions are more than the limit of %d", len(dims), maxDims)
	}
	if !w.loaded {
		return errNothingLoaded
	}
	defer w.halt()
	// A process that has mapped the buffers sees the inputs of a later Map without being told, and saves the time of a request.
	if n := w.running; !n.current || n.memory != w.memory {
		if err := w.share(ctx); err != nil {
			return err
		}
	}
	if w.memory != nil {
		w.memory.reset(pattern)
	}
	r, err := w.ask(ctx, request{Call: &callRequest{Dims: dims}}, nil, min(2*cpu+patience, w.limits.Wall), min(cpu, w.limits.CPU))
	if err != nil {
		return err
	}
	w.took = time.Duration(r.Spent * float64(time.Second))
	if w.memory != nil {
		return w.memory.check()
	}
	return nil
}

// Took returns the CPU time of the last call on its thread, as its process says. A candidate may forge it.
func (w *Worker) Took() time.Duration { return w.took }

// ask sends a request and waits for the answer within the limits. Where the candidate fails, the process is stopped and the error
// is a *kernels.Rejection.
func (w *Worker) ask(ctx context.Context, q request, file *os.File, wall, cpu time.Duration) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	n := w.running
	n.rest.end(n.cpuTime(), time.Now())
	n.resume()
	n.seq++
	q.Seq = n.seq
	text, err := json.Marshal(q)
	if err != nil {
		return reply{}, err
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_ = n.control.SetWriteDeadline(time.Now().Add(startLimit))
	// A worker that has died does not accept the request; receiving finds out why it died.
	_, _, _ = n.control.WriteMsgUnix(text, rights, nil)
	runtime.KeepAlive(file)
	return w.receive(ctx, n.seq, wall, cpu)
}

// receive waits for the answer with the given number, and checks the process at intervals.
func (w *Worker) receive(ctx context.Context, seq uint64, wall, cpu time.Duration) (reply, error) {
	n := w.running
	last := time.Now()
	deadline := last.Add(wall)
	<-n.started
	cpuDeadline := n.cpuTime() + cpu
	for {
		_ = n.control.SetReadDeadline(time.Now().Add(pollInterval))
		size, err := n.control.Read(n.buf)
		if err == nil && size > 0 {
			var r reply
			if err := json.Unmarshal(n.buf[:size], &r); err != nil || r.Seq != seq {
				return reply{}, w.fail(space.Crashed, "wrote to the connection with tune")
			}
			if r.Thread != 0 {
				n.thread = r.Thread
			}
			if n.candidate && n.output.flooded() {
				return reply{}, w.flooded()
			}
			if n.candidate && n.hoards(w.limits.File) {
				return reply{}, w.hoarded()
			}
			if r.Error != "" {
				return reply{}, w.fail(space.Crashed, "could not go on: %s", r.Error)
			}
			n.rest.begin(n.cpuTime(), time.Now())
			return r, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return reply{}, w.died()
		}
		now := time.Now()
		if pause := now.Sub(last); pause > 20*pollInterval {
			deadline = deadline.Add(pause) // tune itself was stopped, which is not the candidate's fault
		}
		last = now
		if ctx.Err() != nil {
			w.stop()
			return reply{}, ctx.Err()
		}
		switch {
		case n.output.flooded():
			return reply{}, w.flooded()
		case n.hoards(w.limits.File):
			return reply{}, w.hoarded()
		case now.After(deadline) && n.halted > 0:
			return reply{}, w.fail(space.Crashed, "%s", stopped)
		case now.After(deadline):
			return reply{}, w.fail(space.Timeout, "ran past its limit of %s", durationText(wall))
		case n.cpuTime() > cpuDeadline:
			return reply{}, w.fail(space.Timeout, "ran past its limit of %s of CPU time", durationText(cpu))
		}
		if why := n.stuck(); why != "" {
			return reply{}, w.fail(space.Crashed, "%s", why)
		}
	}
}

// fail stops the process and returns the rejection of its candidate, or an error where none was running.
func (w *Worker) fail(status space.Status, format string, args ...any) error {
	n := w.running
	w.stop()
	if !n.candidate {
		return fmt.Errorf("the worker "+format, args...)
	}
	return kernels.Reject(status, format, args...)
}

// Probe starts a worker and says how it is isolated. It fails where none can be started.
func Probe(ctx context.Context) (Isolation, error) {
	w, err := Start(ctx, Options{Core: -1})
	if err != nil {
		return Isolation{Lacks: []string{}}, err
	}
	landlock := w.running.landlock
	return Isolation{Seccomp: true, Landlock: landlock, Lacks: lacks(landlock)}, w.Close()
}

func (w *Worker) flooded() error {
	return w.fail(space.Crashed, "wrote more than %s of output", files.Size(w.limits.Output))
}

// mostFilled is how much the files of a scratch folder may take in all, in files of the largest size.
const mostFilled = 64

// hoards reports whether the files in the scratch folder take more than they may, each of them file bytes at most. A memory file system may
// hold them.
func (n *instance) hoards(file int64) bool {
	return n.scratch != "" && len(names(n.scratch)) > 0 && filled(n.scratch, mostFilled*file) > mostFilled*file
}

// filled returns how many bytes of its file system a folder with all that is in it takes, each file and folder a block at least. It stops
// counting above most.
func filled(dir string, most int64) (bytes int64) {
	const block = 4096
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var s unix.Stat_t
		if err == nil && unix.Lstat(path, &s) == nil { // otherwise it is gone meanwhile
			bytes += max(s.Blocks*512, block)
		}
		if bytes > most {
			return fs.SkipAll
		}
		return nil
	})
	return bytes
}

func (w *Worker) hoarded() error {
	return w.fail(space.Crashed, "wrote files of more than %s in all to its folder", files.Size(mostFilled*w.limits.File))
}

// mostHalted is how many polls in a row may find a candidate stopped: those of two seconds.
const mostHalted = int(2 * time.Second / pollInterval)

// stopped is the reason of a candidate that stays stopped.
const stopped = "stopped its own process (SIGSTOP)"

// stuck says why the candidate will never answer, "" where it may.
func (n *instance) stuck() string {
	if n.thread == 0 {
		return ""
	}
	switch thread, ok := readStat(fmt.Sprintf("/proc/%d/task/%d/stat", n.pid, n.thread)); {
	case ok && (thread.state == 'T' || thread.state == 't'):
		// From outside a process is stopped and continued too, for instance with everything else of a container. Nothing continues one that
		// has stopped itself.
		if n.halted++; n.halted > mostHalted {
			return stopped
		}
		return ""
	case !ok || thread.state == 'Z' || thread.state == 'X':
		// The thread may be gone because the whole process is about to end; the end of the process then tells more. Where a fault is recorded it is,
		// however long that takes: on a busy machine a process with much memory needs a second.
		if _, faulted := (*fault)(unsafe.Pointer(&n.shared[0])).read(); faulted {
			return ""
		}
		if n.missed++; n.missed > 8 {
			return "ended the thread that called it (pthread_exit)"
		}
	default:
		n.missed = 0
	}
	n.halted = 0
	return ""
}

// died finds out why the connection ended, and stops what is left.
func (w *Worker) died() error {
	n := w.running
	d := death{during: "a call", memory: n.memory, bases: n.bases, arena: n.arena, limits: w.limits}
	if !w.loaded {
		d.during = "being loaded"
	}
	select {
	case <-n.ended:
	case <-time.After(2 * time.Second): // ending a process takes time on a busy machine
		d.vanished = true
	}
	n.kill()
	d.fault, d.faulted = (*fault)(unsafe.Pointer(&n.shared[0])).read()
	d.result, d.failure = n.result, n.failure
	if kills := oomKills(); kills >= 0 && n.oomKills >= 0 {
		d.counted, d.starved = true, kills > n.oomKills
	}
	flooded := n.output.flooded()
	_, d.stderr = n.output.texts()
	candidate := n.candidate
	if flooded && candidate && !d.faulted {
		return w.flooded()
	}
	w.stop()
	if !candidate {
		return fmt.Errorf("the worker died: %s", d.reason())
	}
	if d.faulted && unix.Signal(d.fault.signal) == unix.SIGXCPU {
		return kernels.Reject(space.Timeout, "%s", d.reason())
	}
	return kernels.Reject(space.Crashed, "%s", d.reason())
}
