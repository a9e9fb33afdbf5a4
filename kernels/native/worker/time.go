//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// Time times the candidate on private copies of the buffers. A warm-up call on each copy comes first, unless the request says
// that they are warm. The content of the buffers varies between timed calls; see [Pool] and TimeRequest.Window.
//
// The times come from the candidate's own process, where the harness reads them by system calls. They are compared with what the
// system reports from outside about the calling thread, the whole process, and wall time. If they cannot all be right, or if more
// threads work than the request says, the candidate is rejected. Clocks that are wrong once get further chances.
func (w *Worker) Time(ctx context.Context, t TimeRequest) (Timing, error) {
	if err := t.Validate(); err != nil {
		return Timing{}, err
	}
	defer w.halt()
	if err := w.ready(ctx, t.Threads); err != nil {
		return Timing{}, err
	}
	// On a shared machine, what takes little CPU time may take long.
	wall, cpu := 2*t.Limit+patience, t.Limit*time.Duration(max(t.Threads, 1))
	if t.Limit == 0 {
		wall, cpu = w.limits.Wall*time.Duration(t.Samples+1), w.limits.CPU*time.Duration(t.Samples+1)
	}
	seed := t.Seed
	var doubt error
	for try := range tries {
		time.Sleep(time.Duration(try) * calmer)
		if t.Seed == [2]uint64{} {
			seed = [2]uint64{kernels.FreshSeed(), kernels.FreshSeed()}
		}
		if w.memory != nil {
			w.memory.forgetEvidence()
		}
		r, err := w.ask(ctx, request{Prepare: &timeRequest{
			Dims: t.Dims, Calls: t.Calls, Samples: t.Samples, Wall: t.Clock == Wall, Copies: t.Copies, Places: t.Places, Warm: t.Warm,
			Window: max(t.Window, 1), Sparse: t.Sparse || t.Cold, Cold: t.Cold, Refill: t.Refill, Touch: t.Touch, Whole: t.Whole, Known: t.Known, Idle: t.Idle,
			Seed: seed,
		}}, nil, wall, cpu)
		if err != nil {
			return Timing{}, err
		}
		w.running.arena = r.Arena
		end := func() {}
		if t.Around != nil {
			end = t.Around(w.running.pid)
		}
		before := w.running.look()
		_, err = w.ask(ctx, request{Sample: true}, nil, wall, cpu)
		end()
		if err != nil {
			return Timing{}, err
		}
		used := w.running.look().since(before)
		if r, err = w.ask(ctx, request{Result: true}, nil, wall, cpu); err != nil {
			return Timing{}, err
		}
		if alone := t.Threads <= 1 && used.beside() > helpLimit(r.Spent); alone || used.process.Seconds() > r.Spent*(1+clockShare)+threadsSlack {
			used.ours = w.running.ours()
		}
		if w.memory != nil {
			if err := w.memory.check(); err != nil {
				return Timing{}, err
			}
		}
		if err := w.complete(r, t); err != nil {
			w.stop()
			return Timing{}, err
		}
		if t.Idle {
			return Timing{Calls: r.Calls, First: r.First, Each: r.Each}, nil
		}
		all := w.running.all.and(r)
		if doubt = cmp.Or(used.doubt(r, t, memoryRate), all.doubt(t, memoryRate)); doubt == nil {
			w.running.all = all
			out := Timing{Seconds: r.Seconds, First: r.First, Each: r.Each, Whole: r.Whole, Work: used.work(r), Window: max(t.Window, 1), Calls: r.Calls}
			out.Evidence, err = w.evidence(r.Evidence, t.Samples)
			return out, err
		}
	}
	return Timing{}, doubt
}

// ready prepares the process for timed calls of a number of threads.
func (w *Worker) ready(ctx context.Context, threads int) error {
	if !w.loaded {
		return errNothingLoaded
	}
	if err := w.share(ctx); err != nil {
		return err
	}
	if w.options.Harness == "" {
		return errors.New("the worker cannot time: Options.Harness is not set")
	}
	if work := w.running.rested(); threads <= 1 && work > restLimit {
		w.stop()
		return kernels.Reject(space.Invalid, "works between its calls, when other candidates are measured (%.3g s of CPU time): start no thread that goes on after a call", work.Seconds())
	}
	return w.varied(ctx)
}

// complete says what an answer lacks, nil for nothing.
func (w *Worker) complete(r reply, t TimeRequest) error {
	switch m := w.memory; {
	case len(r.Seconds) != t.Samples:
		return kernels.Reject(space.Crashed, "answered with %d samples where %d were asked", len(r.Seconds), t.Samples)
	case r.Calls < t.Calls*t.Samples:
		return kernels.Reject(space.Crashed, "wrote to the connection with tune")
	case m != nil && len(r.Evidence) < min(m.evidence.Slots, t.Samples):
		return kernels.Reject(space.Crashed, "answered without evidence of its calls: it wrote to the connection with tune")
	}
	return nil
}

// A timing is repeated where its clocks cannot all be right. Other processes disturb a machine for tenths of a second.
const (
	tries  = 3
	calmer = 100 * time.Millisecond
)

// patience is how much longer than its limit a timing may take in wall time.
const patience = 5 * time.Second

// varied makes sure that the process has the contents that timed calls use.
func (w *Worker) varied(ctx context.Context) error {
	if w.memory == nil {
		return nil
	}
	if w.pool == nil {
		inputs := make([][]byte, len(w.memory.buffers))
		for i, b := range w.memory.buffers {
			if b.Mode == In {
				inputs[i] = w.memory.views[i]
			} else if b.Mode == InOut {
				inputs[i] = w.memory.inputs[i]
			}
		}
		p, err := NewPool(w.memory.buffers, [][][]byte{inputs}, 1)
		if err != nil {
			return err
		}
		w.pool = p
	}
	return w.sharePool(func(q request, f *os.File) error {
		_, err := w.ask(ctx, q, f, startLimit, startLimit)
		return err
	})
}

// evidence reads the slots of evidence.
func (w *Worker) evidence(list []evidenceOf, samples int) ([]Evidence, error) {
	var out []Evidence
	for _, e := range list {
		m := w.memory
		if m == nil || e.Slot < 0 || e.Slot >= m.evidence.Slots || e.Variant >= w.pool.request.Whole || e.Sample >= samples {
			w.stop()
			return nil, kernels.Reject(space.Crashed, "wrote to the connection with tune")
		}
		one := Evidence{Variant: max(e.Variant, -1), Sample: max(e.Sample, -1), Given: make([][]byte, len(m.buffers)), Wrote: make([][]byte, len(m.buffers))}
		for i, b := range m.buffers {
			view := func(after bool) []byte {
				return m.data[m.evidence.Offset+m.evidence.at(m.regions, e.Slot, i, after):][:b.Bytes:b.Bytes]
			}
			if b.Mode != Out {
				one.Given[i] = view(false)
			}
			if b.Mode != In {
				one.Wrote[i] = view(true)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// usage is what the system reports about a worker from outside.
type usage struct {
	wall    time.Duration
	process time.Duration // CPU time of all threads
	again   time.Duration // the same, read after the times of the threads
	least   time.Duration // of a difference: what all threads used at least while their own times were counted
	threads map[int]time.Duration
	caller  int
	waits   int           // how often the caller gave its core away because it had to wait
	queued  time.Duration // how long the caller was ready while others had its core
	ours    []int         // the threads of the worker itself, if requested
}

// ours returns the threads that run no code of candidates: those with no more filters than the main thread. Where the system does
// not report filters, it returns none.
func (n *instance) ours() (list []int) {
	all, _ := look(n.pid)
	for id, t := range all {
		if t.filters != "" && t.filters == all[n.pid].filters {
			list = append(list, id)
		}
	}
	return list
}

// look reads the clocks of a worker that waits for a request.
func (n *instance) look() usage {
	u := usage{process: n.cpuTime(), caller: n.thread, waits: threadWaits(n.pid, n.thread)}
	u.threads, u.queued = threadTimes(n.pid, n.thread)
	u.wall = time.Since(processStart)
	u.again = n.cpuTime()
	return u
}

// processStart is the origin of wall-clock readings.
var processStart = time.Now()

// since returns the usage since an earlier look.
func (u usage) since(before usage) usage {
	out := usage{wall: u.wall - before.wall, process: u.process - before.process, threads: map[int]time.Duration{}, caller: u.caller}
	out.least = u.process - before.again
	out.waits, out.queued = u.waits-before.waits, u.queued-before.queued
	for id, t := range u.threads {
		out.threads[id] = t - before.threads[id]
	}
	return out
}

// work returns the CPU time of a call, of all threads of the candidate together.
func (u usage) work(r reply) float64 {
	all := u.process.Seconds() - (r.Spent - r.Timed) - u.own().Seconds()
	return max(all, 0) / float64(max(r.Calls, 1))
}

// beside returns how much CPU time threads used at least beside the caller and the worker's own, also threads that have ended; 0 where the
// system does not tell the times of threads.
func (u usage) beside() float64 {
	caller, known := u.threads[u.caller]
	if !known {
		return 0
	}
	return (u.least - caller - u.own()).Seconds()
}

// own returns how much CPU time the threads of the worker itself used, the caller apart.
func (u usage) own() (sum time.Duration) {
	for _, id := range u.ours {
		if id != u.caller {
			sum += u.threads[id]
		}
	}
	return sum
}

// helpLimit is how many seconds of CPU time the threads of a serial candidate may use in a request in which the caller uses spent: next to
// none, because the fastest samples count, and one of ten is soon helped.
func helpLimit(spent float64) float64 { return helpShare*spent + helpSlack }

// threadTimes returns the CPU time of each thread of a process, as far as the system tells, and how long one of them was ready to run while
// others had its core.
func threadTimes(pid, caller int) (out map[int]time.Duration, queued time.Duration) {
	out = map[int]time.Duration{}
	dir := fmt.Sprintf("/proc/%d/task", pid)
	for _, name := range names(dir) {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := readFile(dir + "/" + name + "/schedstat")
		if err != nil {
			continue
		}
		first, rest, _ := bytes.Cut(text, []byte(" "))
		if ns, err := strconv.ParseInt(string(first), 10, 64); err == nil {
			out[id] = time.Duration(ns)
		}
		if id == caller {
			second, _, _ := bytes.Cut(rest, []byte(" "))
			ns, _ := strconv.ParseInt(string(second), 10, 64)
			queued = time.Duration(ns)
		}
	}
	return out, queued
}

// threadWaits returns how often a thread gave its core away because it had to wait; 0 where the system does not tell.
func threadWaits(pid, id int) int {
	text, err := readFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, id))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\nvoluntary_ctxt_switches:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line)))
	return n
}

// Clocks that should agree may differ by this much: a share, and what a process does besides the calls.
const (
	clockShare   = 0.05
	clockSlack   = 0.003 // seconds
	threadsSlack = 0.002
	// The threads of a serial candidate may use this much; see helpLimit.
	helpShare = 0.005
	helpSlack = 0.00005
	// The worker's own threads, which do not count for the candidate, may use this much in addition.
	oursShare = 0.05
	oursSlack = 0.006
)

// doubt says why the answer of a worker cannot be right, or returns nil. rate is memoryRate.
func (u usage) doubt(r reply, t TimeRequest, rate func(Clock) float64) error {
	implausible := func(format string, args ...any) error {
		return kernels.Reject(space.Invalid, "implausible: "+format, args...)
	}
	sum := 0.0
	for i, s := range r.Seconds {
		if !(s > 0) {
			return implausible("sample %d took %g s", i, s)
		}
		sum += s * float64(t.Calls)
	}
	threads := max(t.Threads, 1)
	wall, process := u.wall.Seconds(), u.process.Seconds()
	caller, known := u.threads[u.caller]
	switch {
	case r.Spent > wall*(1+clockShare)+clockSlack:
		return implausible("its clock says that %.3f s passed, and that of the wall says %.3f s", r.Spent, wall)
	case sum > r.Spent*(1+clockShare)+clockSlack || r.Timed > r.Spent*(1+clockShare)+clockSlack:
		return implausible("its calls add up to %.3f s of %.3f s", max(sum, r.Timed), r.Spent)
	case r.worksBeside(t, rate):
		return r.besideDoubt(t)
	case t.Clock == CPU && r.Spent > process*(1+clockShare)+clockSlack:
		return implausible("its clock says that it used %.3f s of CPU time, and that of its process says %.3f s", r.Spent, process)
	case t.Clock == CPU && known && caller.Seconds() > r.Spent*(1+clockShare)+clockSlack:
		return implausible("its clock says that it used %.3f s of CPU time, and that of its thread says %.3f s", r.Spent, caller.Seconds())
	}
	// Work of other threads, which the clock of the calling thread does not see.
	mine := max(r.Spent, caller.Seconds()) // just found to agree
	if t.Clock == Wall {
		if mine = caller.Seconds(); !known {
			return nil
		}
	}
	ours := u.own()
	if help := u.beside(); threads == 1 && len(u.ours) > 0 && help > helpLimit(mine) {
		return u.undeclared()
	}
	others := process - ours.Seconds()
	process -= min(ours.Seconds(), oursShare*mine+oursSlack)
	if threads == 1 && process > mine*(1+clockShare)+threadsSlack {
		if others <= mine*(1+clockShare)+threadsSlack {
			return implausible("the worker's own threads used %.3f s of CPU time beside %.3f s of its thread: it works in them, or the machine is too busy to measure it", ours.Seconds(), mine)
		}
		return u.undeclared()
	}
	n := u.working(helpLimit(mine))
	if caller.Seconds()-(r.Spent-r.Timed) < clockShare*r.Timed {
		n-- // the caller only waits for the others
	}
	if threads > 1 && len(u.ours) > 0 && n > threads {
		return kernels.Reject(space.WrongAnswer, "uses %d threads, the file says %d: say threads: %d, or start no more than it says", n, threads, n)
	}
	if threads > 1 && process > float64(threads)*r.Spent*(1+clockShare)+clockSlack*float64(threads) {
		return kernels.Reject(space.WrongAnswer, "used %.3f s of CPU time in %.3f s: more than the %d threads that the file says can", process, r.Spent, threads)
	}
	return u.waited(r, t)
}

// A call of one thread must not wait, because the clock of the thread stands still meanwhile. Honest calls wait now and then: for a page
// of memory, or for a lock of the system that another thread of the worker has.
const (
	waitsShare    = 0.02   // calls that may wait a little
	waitedShare   = 0.02   // of the time of the thread that they may wait
	waitedSlack   = 250e-6 // seconds that they may wait in addition: a call that looks into /proc waits for a tenth of a millisecond
	waitsHandOver = 8      // how often the thread waits for its request, and for its answer to be taken
)

// waited says why a candidate whose calls wait is refused, or returns nil. Nothing is hidden where the wall clock counts.
func (u usage) waited(r reply, t TimeRequest) error {
	waits := max(r.Waits, u.waits-waitsHandOver)
	if t.Clock == Wall || waits <= 0 {
		return nil
	}
	hidden := r.Wall - r.Spent
	if u.queued > 0 { // the system tells how long others had the core
		hidden -= u.queued.Seconds()
	}
	often := float64(waits) > waitsShare*float64(r.Calls) && hidden > waitedShare*r.Spent+waitedSlack
	if !often && hidden <= clockShare*r.Spent+clockSlack {
		return nil
	}
	return kernels.Reject(space.Invalid, "waits in its calls (waits: %d, calls: %d, time: %.3g s), which the clock of its thread does not count: take out what sleeps, or waits for a lock, a file or another thread, or say threads: 2, so that the wall clock counts",
		waits, r.Calls, max(hidden, 0))
}

// slowest is the rate of a slow memory, in bytes per second, on a machine that others leave alone.
const slowest = 1.5e9

// worksBeside reports whether more time passed beside the calls than what is done there takes.
func (r reply) worksBeside(t TimeRequest, rate func(Clock) float64) bool {
	return r.Spent-r.Timed > besides(r, t, slowest) && r.Spent-r.Timed > besides(r, t, rate(t.Clock))
}

func (r reply) besideDoubt(t TimeRequest) error {
	return kernels.Reject(space.Invalid, "implausible: %.3f s passed beside its calls, where reading and changing %d bytes takes no more than %.3f s: it works outside of its calls, or the machine is too busy to measure it",
		r.Spent-r.Timed, r.Bytes, besides(r, t, slowest))
}

// accepted sums up the requests of a candidate that were accepted. A request may take some milliseconds for what happens now and then. If each of
// many short ones takes them, the times of its calls are not what they seem.
type accepted struct{ reply }

// and adds an answer.
func (a accepted) and(r reply) accepted {
	a.Spent += r.Spent
	a.Timed += r.Timed
	a.Bytes += r.Bytes
	a.Stretches += r.Stretches
	return a
}

// doubt says why the answers cannot all be right, or returns nil. t is the last request.
func (a accepted) doubt(t TimeRequest, rate func(Clock) float64) error {
	if a.worksBeside(t, rate) {
		return a.besideDoubt(t)
	}
	return nil
}

// besides returns how many seconds a request may take in addition to its calls: for the bytes at the rate of the memory, the clocks,
// and page faults. Wall time continues while other processes have the core.
func besides(r reply, t TimeRequest, rate float64) float64 {
	const stretch = 3e-6
	took := float64(r.Bytes)/rate + float64(r.Stretches)*stretch + clockShare*r.Timed + clockSlack
	if t.Clock == Wall {
		took = 4*took + 0.05 + r.Timed/2
	}
	return took
}

// copied is how much memoryRate copies, in bytes, and copies how often. The rate of a worker may be lower than that of memory by the factor
// copyShare, because it also compares, and some of its pages are new to it.
const (
	copied    = 32 << 20
	copies    = 2
	copyShare = 3
)

// memoryRate measures at how many bytes per second a worker reads and changes memory at least, while others use the memory of the
// machine. It copies in this process, which no candidate reaches, and asks the same clock as the worker. It also copies to new pages of the
// kind that a worker shares with tune: on some virtual machines a new page takes far longer than its content.
func memoryRate(c Clock) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, rate := make([]byte, copied), slowest
	for i := 0; i < copied; i += 64 {
		from[i] = byte(i)
	}
	for range copies {
		rate = min(rate, copyRate(c, make([]byte, copied), from)/copyShare)
		to, err := unix.Mmap(-1, 0, copied, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
		if err != nil {
			continue
		}
		rate = min(rate, copyRate(c, to, from))
		_ = unix.Munmap(to)
	}
	return rate
}

// copyRate returns at how many bytes per second a copy went.
func copyRate(c Clock, to, from []byte) float64 {
	began := clockOf(c)
	copy(to, from)
	took := clockOf(c) - began
	runtime.KeepAlive(to)
	if took <= 0 {
		return math.Inf(1)
	}
	return float64(len(from)) / took.Seconds()
}

// clockOf reads the clock of a thread, or of the wall.
func clockOf(c Clock) time.Duration {
	var now unix.Timespec
	if c == Wall || unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return time.Since(processStart)
	}
	return time.Duration(now.Nano())
}

// undeclared is the rejection of a serial candidate that used other threads.
func (u usage) undeclared() error {
	n := max(u.working(clockShare*u.process.Seconds()), 2)
	return kernels.Reject(space.WrongAnswer, "uses %d threads, the file says 1: say threads: %d, or start none", n, n)
}

// working returns how many threads used more than so many seconds of CPU time, the caller included. All that have ended count as one.
func (u usage) working(seconds float64) int {
	n, ended := 1, u.least
	for id, t := range u.threads {
		ended -= t
		if id != u.caller && !slices.Contains(u.ours, id) && t.Seconds() > seconds {
			n++
		}
	}
	if ended.Seconds() > seconds {
		n++
	}
	return n
}
