package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tune/internal/counters"
	"tune/internal/cpu"
	"tune/kernels/native/cc"
	"tune/kernels/native/internal/testonly"
	"tune/kernels/native/worker"
)

// HostOptions configure a host. The zero value is right for most.
type HostOptions struct {
	// CacheDir holds the compiled objects; "" means the cache of this user.
	CacheDir string
	// Compilers to use; nil searches for installed ones.
	Compilers []cc.Compiler
	// Executable is the binary that workers start; "" means this one.
	Executable string
	// Counters are the system's, of events and of energy.
	Counters counters.Counters
}

// Host is the machine that native kernels are compiled, checked and timed on: compilers, workers, and the right to time. A
// process must have only one, which all kernels are given: two that measure at once disturb each other. Goroutines may share it.
type Host struct {
	options HostOptions
	hasty   bool  // see testonly.Host
	brief   bool  // see testonly.Host
	cores   []int // that candidates are checked on

	claimed sync.Once
	core    int    // that serial candidates are timed on, once it is claimed
	free    func() // gives that core to others

	token chan struct{}       // held by the goroutine that times
	gauge gauge               // belongs to the holder of the token
	noise *semaphore.Weighted // held in part by checks, and completely by work that needs the machine to itself
	slots chan int            // of checks

	mu    sync.Mutex
	tools *cc.Toolchain
	idle  map[worker.Options][]runner
	kept  []runner // further workers for Close to end
	owned owned    // the worker that Own used last
	seats []seat   // workers that are kept for surveys, the last used last
	peak  *Peaks   // nil before all rates are measured
	// glimpse has rates of a few samples; 0 where none were taken.
	glimpse Peaks
	spent   map[string]time.Duration
	done    bool

	// start starts a worker. Tests replace it.
	start func(context.Context, worker.Options) (runner, error)
}

// runner is what a host needs of a worker.
type runner interface {
	Map(buffers []worker.Buffer, inputs [][]byte) error
	Vary(*worker.Pool) error
	Load(so string) error
	Unload()
	Renew(but string)
	Shared() bool
	Call(ctx context.Context, dims []int64) error
	CallAgain(ctx context.Context, dims []int64) error
	CallWithin(ctx context.Context, dims []int64, cpu time.Duration) error
	Outputs() [][]byte
	Time(context.Context, worker.TimeRequest) (worker.Timing, error)
	Blind(context.Context, worker.BlindRequest) (worker.Blind, error)
	Close() error
}

// noiseAll is more than the number of checks that can ever run at once.
const noiseAll = 1 << 20

// NewHost returns a host. Close ends its workers. more is for package nativetest alone.
func NewHost(o HostOptions, more ...testonly.Host) *Host {
	h := &Host{
		options: o, token: make(chan struct{}, 1), noise: semaphore.NewWeighted(noiseAll),
		slots: make(chan int, cpu.Cores()), idle: map[worker.Options][]runner{}, spent: map[string]time.Duration{},
	}
	h.cores = cpu.Allowed()
	for _, of := range more {
		h.hasty, h.brief = h.hasty || of.Hasty, h.brief || of.Brief
	}
	for i := range cap(h.slots) {
		h.slots <- i
	}
	h.start = func(ctx context.Context, o worker.Options) (runner, error) { return worker.Start(ctx, o) }
	return h
}

// Cores returns the core that serial candidates are timed on, and those that tune may use.
func (h *Host) Cores() (timing int, allowed []int) { return h.timingCore(), slices.Clone(h.cores) }

// timingCore returns the core that serial candidates are timed on, which the first call claims. Interrupts and most programs prefer the
// first core, so it is the last one, or the last one that no other process times on.
func (h *Host) timingCore() int {
	h.claimed.Do(func() { h.core, h.free = claimCore(h.cores) })
	return h.core
}

// Toolchain returns the compilers of the host. It fails where there are none.
func (h *Host) Toolchain(ctx context.Context) (*cc.Toolchain, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tools == nil {
		compilers := h.options.Compilers
		if compilers == nil {
			var err error
			if compilers, err = cc.Find(ctx); err != nil {
				return nil, err
			}
		}
		h.tools = cc.New(h.options.CacheDir, compilers)
	}
	return h.tools, nil
}

// Compilers returns the compilers of the host, the preferred one first. It fails where there are none.
func (h *Host) Compilers(ctx context.Context) ([]cc.Compiler, error) {
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	return tools.Compilers(), nil
}

// Close ends the idle workers. Busy ones end when their work does. Nothing may be measured after it.
func (h *Host) Close() error {
	h.mu.Lock()
	idle := h.idle
	kept := h.kept
	if h.owned.w != nil {
		kept = append(kept, h.owned.w)
	}
	for _, s := range h.seats {
		kept = append(kept, s.w)
	}
	h.idle, h.kept, h.owned, h.seats, h.done = map[worker.Options][]runner{}, nil, owned{}, nil, true
	h.mu.Unlock()
	h.claimed.Do(func() { h.core, h.free = h.cores[len(h.cores)-1], func() {} })
	h.free()
	var errs []error
	for _, w := range kept {
		errs = append(errs, w.Close())
	}
	for _, list := range idle {
		for _, w := range list {
			errs = append(errs, w.Close())
		}
	}
	return errors.Join(errs...)
}

// Spent returns where the time of this host's candidates went, added up over all goroutines: "compile", "check",
// "wait" for the turn to be timed, and "time".
func (h *Host) Spent() map[string]time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	spent := maps.Clone(h.spent)
	if h.tools != nil {
		spent["compile"] = h.tools.Stats().Time
	}
	return spent
}

// clock starts to count time for a purpose; the function that it returns stops it.
func (h *Host) clock(purpose string) func() {
	start := time.Now()
	return func() {
		h.mu.Lock()
		h.spent[purpose] += time.Since(start)
		h.mu.Unlock()
	}
}

// retire ends a worker that was kept.
func (h *Host) retire(w runner) {
	h.mu.Lock()
	h.kept = slices.DeleteFunc(h.kept, func(k runner) bool { return k == w })
	h.mu.Unlock()
	w.Close()
}

// company says with which candidates a candidate may share a process.
type company struct {
	alone bool
	but   string // the object of a candidate that runs alone, where a process in which it has run before will do; "" where not
	last  bool   // it may leave the process other than it was, so that no candidate follows there
}

// An earlier candidate may have changed a process unnoticed, to a later one's disadvantage or advantage. A candidate whose result
// must be reliable the first time runs alone.
var (
	shared = company{}
	alone  = company{alone: true}
)

// borrow calls f with a worker that may have served other candidates, and keeps it for the next one. A worker replaces its own
// process where a candidate has harmed it, so that it is kept after a rejection too. A rejection counts only from a process in
// which no other candidate has run: otherwise f is called once more, in a fresh one.
func (h *Host) borrow(ctx context.Context, o worker.Options, with company, f func(runner) error) error {
	o.Executable = h.options.Executable
	h.mu.Lock()
	var w runner
	if list := h.idle[o]; len(list) > 0 {
		w, h.idle[o] = list[len(list)-1], list[:len(list)-1]
	}
	h.mu.Unlock()
	if w == nil {
		// The worker outlives the call that starts it, and so must its context.
		var err error
		if w, err = h.start(context.WithoutCancel(ctx), o); err != nil {
			return err
		}
	}
	sound := false
	defer func() {
		if sound {
			// A thread of the candidate could otherwise work while others are timed, or for the candidate's own calls in another process.
			w.Unload()
			if with.last {
				w.Renew("")
			}
		}
		h.mu.Lock()
		keep := sound && !h.done
		if keep {
			h.idle[o] = append(h.idle[o], w)
		}
		h.mu.Unlock()
		if !keep {
			w.Close()
		}
	}()
	if with.alone {
		w.Renew(with.but)
	}
	err := f(w)
	if kernelFault(err) && w.Shared() && ctx.Err() == nil {
		w.Renew("")
		err = f(w)
	}
	sound = err == nil || kernelFault(err)
	return err
}

// check calls f with a worker to check a candidate in. Nothing is timed at the same time.
func (h *Host) check(ctx context.Context, threads int, limits worker.Limits, with company, f func(runner) error) error {
	if err := h.noise.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.noise.Release(1)
	var slot int
	select {
	case slot = <-h.slots:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { h.slots <- slot }()
	defer h.clock("check")()
	o := worker.Options{Core: -1, Limits: limits}
	if threads <= 1 {
		o.Core = h.cores[slot%len(h.cores)]
	}
	return h.borrow(ctx, o, with, f)
}

// Beside waits until nothing is timed, and keeps timing from starting until release is called. Several callers may do such work
// at once.
func (h *Host) Beside(ctx context.Context) (release func(), err error) {
	if err := h.noise.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { h.noise.Release(1) }, nil
}

// Alone waits until nothing is timed, checked or done Beside, and keeps it so until release is called. It does not stop the
// compilers.
func (h *Host) Alone(ctx context.Context) (release func(), err error) {
	return h.claim(ctx, func() error { return nil })
}

// claim is how every measurement gets the machine to itself, until release is called. It takes the token, calls prepare while
// checks still run, and then waits for these.
func (h *Host) claim(ctx context.Context, prepare func() error) (release func(), err error) {
	select {
	case h.token <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err = prepare(); err == nil {
		err = h.noise.Acquire(ctx, noiseAll)
	}
	if err != nil {
		<-h.token
		return nil, err
	}
	return func() { h.noise.Release(noiseAll); <-h.token }, nil
}

// timed calls f while nothing else is timed, no check is in progress, and the compilers are stopped: all other work of tune would
// slow down the measurement, even from another core (see gauge). It passes f the options for workers that time.
func (h *Host) timed(ctx context.Context, threads int, limits worker.Limits, f func(worker.Options) error) error {
	waited := h.clock("wait")
	var tools *cc.Toolchain
	o := worker.Options{Core: h.timingCore(), Limits: limits}
	// Nothing can be compiled once the compilers are stopped, so that the gauge and the timing loop must be compiled before.
	release, err := h.claim(ctx, func() (err error) {
		if tools, err = h.Toolchain(ctx); err != nil {
			return err
		}
		if h.gauge.so, err = h.probe(ctx); err != nil {
			return err
		}
		o.Harness, err = buildHarness(ctx, tools)
		return err
	})
	if err != nil {
		return err
	}
	defer release()
	defer tools.Pause()()
	waited()
	defer h.clock("time")()
	if threads > 1 {
		// Threads that go on after a call would disturb the next entrant of a comparison, and be mistaken for other load. Those of libraries spin
		// for a while, those of OpenBLAS for 2^26 cycles.
		o.Core, o.Halt = -1, true
	}
	return f(o)
}

// buildHarness compiles the timing loop.
func buildHarness(ctx context.Context, tools *cc.Toolchain) (so string, err error) {
	so, err = tools.Build(ctx, "c", worker.HarnessC, "", worker.HarnessFlags())
	if err != nil {
		return "", fmt.Errorf("compiling the timing loop: %w", err)
	}
	return so, nil
}

// mapCase gives a worker the buffers of a case.
func mapCase(w runner, c Case) error {
	if len(c.Inputs) != len(c.Buffers) {
		return fmt.Errorf("native: case %s has %d buffers and %d inputs", c.Name, len(c.Buffers), len(c.Inputs))
	}
	return w.Map(workerBuffers(c.Buffers), c.Inputs)
}

// workerBuffers describes buffers to a worker.
func workerBuffers(list []Buffer) []worker.Buffer {
	buffers := make([]worker.Buffer, len(list))
	for i, b := range list {
		mode := [...]worker.Mode{In: worker.In, Out: worker.Out, InOut: worker.InOut}[b.Mode]
		buffers[i] = worker.Buffer{Name: b.Name, Bytes: b.Bytes(), Mode: mode, Elem: b.Elem.Size()}
	}
	return buffers
}
