//go:build linux && (amd64 || arm64)

package worker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on both architectures, with small pages of 4 KiB.
const hugePage = 2 << 20

// arena holds the private copies of the buffers that timed calls work on. Shared memory would be slower, because it comes in
// small pages. The arena is kept from one candidate to the next, so that all candidates get the same pages.
//
// Where there are several places for the copies, samples use them in turn. Caches beyond the first find a line by its physical
// address, so that for a working set of their size some places are faster than others by a quarter. Samples at a single place
// would measure how lucky that place is, and not how fast the candidate is.
type arena struct {
	base   unsafe.Pointer
	size   int
	copies int
	places int
	sets   []unsafe.Pointer // to the buffers, copy by copy, place by place; in the arena itself, because C reads it
	// variants say, for each set, from which variant most of its inputs come; -1 where that is not reliable; nil before allocate.
	variants []int
	parts    map[partsOf]*parted // the same for the parts of an input that is mixed, or that changes line by line
	fresh    map[partsOf][]int   // the contents of the parts of an input that is put together from many
	place    int                 // of the last sample
	order    []int               // the copies in a circle; those that calls took longest ago come first, from next on
	next     int                 // where in it the copy is that the next call takes, unless another one is drawn

	requests int // prepared since the candidate was loaded
	script   script
	reserved int // bytes of earlier arenas and scripts that cannot be unmapped
}

// partsOf names an input of a set.
type partsOf struct{ set, buffer int }

// forget says that the content of the arena is not reliable any more.
func (a *arena) forget() { a.variants, a.requests = nil, 0 }

func (a *arena) free() {
	a.discard(a.base, a.size)
	*a = arena{script: a.script, reserved: a.reserved}
}

// discard gives memory back. What is sealed gives back its pages alone: the addresses stay reserved.
func (a *arena) discard(base unsafe.Pointer, size int) {
	if base == nil || unix.MunmapPtr(base, uintptr(size)) == nil {
		return
	}
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(base), uintptr(size), unix.MADV_DONTNEED)
	a.reserved += size
}

// first is where the first large page of an arena begins, which is as large as all that it may hold, and one large page more.
func (a *arena) first() unsafe.Pointer {
	return unsafe.Add(a.base, roundUp(int(uintptr(a.base)), hugePage)-int(uintptr(a.base)))
}

// allocate makes room for the given number of copies and places, and maps a new arena where it is too small.
func (w *child) allocate(copies, places int) error {
	a := &w.arena
	// The copies follow each other, each buffer shifted by an odd number of lines: if all of them began at the same place of a
	// page, loads would wait for unrelated stores.
	var offsets []int
	size := roundUp(8*copies*places*len(w.regions), alignment)
	for range copies * places {
		for i, r := range w.regions {
			size = roundUp(size, 4096) + (i+1)*17*alignment%4096
			offsets = append(offsets, size)
			size += roundUp(r.Bytes, 8) // changes are made in words
		}
	}
	if size = roundUp(size, hugePage) + hugePage; size > a.size {
		a.free()
		a.size = size
		if err := w.limitMemory(); err != nil {
			return err
		}
		base, err := w.mapOwn(-1, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			a.free()
			return fmt.Errorf("allocating %d bytes for %d copies of the buffers: %w", size, copies, err)
		}
		a.base = base
		// Large pages are advice: a system without them is slower, not wrong.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(base), uintptr(size), unix.MADV_HUGEPAGE)
		// This holds for all threads of the process, and not for those of candidates alone.
		_ = seal(uintptr(base), uintptr(size))
		// The system looks for pages and zeroes them at their first use, which may take longer than a timing allows. What is before the first
		// large page, or behind the last one, is never used.
		for at, first := 0, a.first(); at < size-hugePage; at += os.Getpagesize() {
			*(*byte)(unsafe.Add(first, at)) = 0
		}
	}
	first := a.first()
	a.sets = unsafe.Slice((*unsafe.Pointer)(first), len(offsets))
	for i, offset := range offsets {
		a.sets[i] = unsafe.Add(first, offset)
	}
	a.copies, a.places, a.place, a.next, a.variants = copies, places, 0, 0, slices.Repeat([]int{-1}, copies*places)
	a.parts, a.fresh = map[partsOf]*parted{}, map[partsOf][]int{}
	a.order = ordered(copies)
	return nil
}

// ordered returns the numbers below n in order.
func ordered(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// draw returns the copy for the next call: one of those that calls took longest ago, drawn among so many. Between two calls that take a
// copy there are copies-among others at least, which take other ones.
func (a *arena) draw(among int, rng *rand.Rand) int {
	if among > 1 {
		other := (a.next + rng.IntN(among)) % a.copies
		a.order[a.next], a.order[other] = a.order[other], a.order[a.next]
	}
	c := a.order[a.next]
	a.next = (a.next + 1) % a.copies
	return c
}

// buffer returns buffer j of a set, counted over all places.
func (a *arena) buffer(w *child, set, j int) unsafe.Pointer { return a.sets[set*len(w.regions)+j] }

// Types that the harness reads; see HarnessC. Those of long lists hold addresses in place of pointers: what they point at is outside of
// Go's heap, and the garbage collector has nothing to look for in them.
type (
	operation struct {
		to   uintptr
		from uintptr
		size int64
	}
	step struct {
		set uintptr
		end int64
	}
	stretch struct{ before, steps, after, begin, end int64 }

	harnessRun struct {
		call       uintptr
		dims       unsafe.Pointer
		operations unsafe.Pointer
		steps      unsafe.Pointer
		stretches  unsafe.Pointer
		count      int64
		clock      int64
		begin, end int64
		overhead   int64
		warm       int64
		waits      int64
		wall       [2]int64
	}
)

// script is the memory from which the harness reads. It is outside of Go's heap, because C accesses it.
type script struct {
	base unsafe.Pointer
	size int
}

// room returns at least the given number of bytes for the script.
func (w *child) room(bytes int) (unsafe.Pointer, error) {
	a, s := &w.arena, &w.arena.script
	if bytes <= s.size {
		return s.base, nil
	}
	a.discard(s.base, s.size)
	*s = script{}
	size := roundUp(bytes+bytes/4, os.Getpagesize())
	base, err := w.mapOwn(-1, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("allocating %d bytes for the plan of a timing: %w", size, err)
	}
	_ = seal(uintptr(base), uintptr(size))
	s.base, s.size = base, size
	return base, nil
}

// prepared is a timing that is ready to run, or has run.
type prepared struct {
	plan    plan
	run     *harnessRun
	out     []stretch
	sampled bool
	blind   int // the calls, where they are blind; 0 otherwise
}

// prepare plans the timed calls of a request and writes the plan for the harness.
func (w *child) prepare(t *timeRequest) error {
	a := &w.arena
	if w.harness == 0 {
		return errors.New("the worker was started without the harness")
	}
	copies, places := max(t.Copies, 1), max(t.Places, 1)
	if a.variants == nil || a.copies != copies || a.places != places {
		if err := w.allocate(copies, places); err != nil {
			return err
		}
	}
	before := w.planner.memory()
	p := w.newPlanner(t)
	p.write()
	if p.memory() != before {
		// Otherwise other threads would collect garbage while the candidate is timed. They continue for a moment after this call.
		debug.FreeOSMemory()
		pause(2 * time.Millisecond)
	}
	run, out, err := w.loadPlan(p)
	if err == nil {
		err = w.limitMemory() // which includes the script
	}
	if err != nil {
		return err
	}
	w.aim(run, t.Dims, t.Idle, t.Wall)
	if len(p.of) > 1 && p.of[0].sample < 0 {
		run.warm = 1
	}
	a.requests++
	w.limitTiming(t)
	w.prepared = &prepared{plan: p.plan, run: run, out: out}
	return nil
}

// aim says what the timing loop calls, and what it reads as the clock.
func (w *child) aim(run *harnessRun, dims []int64, idle, wall bool) {
	copy(w.caller.dims(), dims)
	run.call, run.dims = w.caller.kernel, unsafe.Pointer(&w.caller.dims()[0])
	if idle {
		run.call = w.nothing
	}
	run.clock = clockThread
	if wall {
		run.clock = clockMonotonic
	}
}

// limitTiming sets the limit of the process for the requested work. It is a backstop; tune's own limit is the one that matters.
func (w *child) limitTiming(t *timeRequest) {
	_ = limitCPU(w.order.Limits.CPU * time.Duration(t.Samples+2))
}

// The clocks of the system.
const (
	clockMonotonic = 1
	clockThread    = 3
)

// loadPlan copies a plan to where the harness reads it.
func (w *child) loadPlan(p *planner) (*harnessRun, []stretch, error) {
	const head = unsafe.Sizeof(harnessRun{})
	sizes := [...]int{
		roundUp(int(head), 64), roundUp(len(p.stretches)*int(unsafe.Sizeof(stretch{})), 64),
		roundUp(len(p.steps)*int(unsafe.Sizeof(step{})), 64), roundUp(len(p.operations)*int(unsafe.Sizeof(operation{})), 64),
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	base, err := w.room(total)
	if err != nil {
		return nil, nil, err
	}
	run := (*harnessRun)(base)
	stretches := unsafe.Add(base, sizes[0])
	steps := unsafe.Add(stretches, sizes[1])
	operations := unsafe.Add(steps, sizes[2])
	out := unsafe.Slice((*stretch)(stretches), len(p.stretches))
	copy(out, p.stretches)
	copy(unsafe.Slice((*step)(steps), len(p.steps)), p.steps)
	copy(unsafe.Slice((*operation)(operations), len(p.operations)), p.operations)
	*run = harnessRun{operations: operations, steps: steps, stretches: stretches, count: int64(len(out))}
	return run, out, nil
}

// sample runs the prepared timing. Its result is another request: tune looks at the clocks of the process before, and would take the work on
// many stretches for that of the candidate.
func (w *child) sample() error {
	p := w.prepared
	if p == nil || p.sampled {
		return errors.New("no timing is prepared")
	}
	p.sampled = true
	w.caller.do(func() { purego.SyscallN(w.harness, uintptr(unsafe.Pointer(p.run))) })
	return nil
}
