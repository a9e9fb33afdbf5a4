//go:build linux && (amd64 || arm64)

package worker

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page on both architectures, with small pages of 4 KiB.
const hugePage = 2 << 20

// arena holds the private copies of the buffers that timed calls work on. Shared memory would be slower: it comes
// in small pages. It is kept from one candidate to the next, so that all of them meet the same pages.
//
// Where there are several places for the copies, the samples take turns with them. Caches behind the first find a
// line by its physical address, so that some places suit a working set of their size better than others by a quarter;
// a sample that always meets the same place tells how lucky that place is, not how fast the candidate is.
type arena struct {
	base   unsafe.Pointer
	size   int
	copies int
	places int
	sets   []unsafe.Pointer // to the buffers, copy by copy, place by place; in the arena itself, because C reads it
	filled []bool           // by place: with the inputs that are mapped, since the candidate was loaded; nil where none is
	plan   *timeRequest
	next   int64 // the copy that the next call takes
	place  int   // of the copies that it is taken from
}

// settles reports whether a call before each sample gets used to the place. Where a sample is one call, that is so long that
// it makes no difference.
func settles(places, calls int) bool { return places > 1 && calls > 1 }

func (a *arena) free() {
	if a.base != nil {
		_ = unix.MunmapPtr(a.base, uintptr(a.size))
	}
	*a = arena{}
}

// prepare allocates and fills the copies, and warms up.
func (w *child) prepare(t *timeRequest) error {
	a := &w.arena
	if w.caller.timer == 0 {
		return errors.New("the candidate has no timing loop")
	}
	copies, places := max(t.Copies, 1), max(t.Places, 1)
	if a.filled == nil || a.copies != copies || a.places != places {
		if err := w.allocate(copies, places); err != nil {
			return err
		}
	}
	a.plan = t
	// The warm-up is at the place of the last sample, and each sample at the next one.
	coming := min(t.Samples+1, places)
	for i := range coming {
		place := (a.place + i) % places
		w.fillPlace(place, func(m Mode) bool { return m == Out || !a.filled[place] })
		a.filled[place] = true
	}
	a.next = 0
	if !t.Warm {
		// One call on each copy brings it into the caches, and makes the candidate's own pages present.
		w.limitTiming(t)
		w.run(int64(copies))
	}
	// From here on an output shows what the timed calls wrote.
	for i := range coming {
		w.fillPlace((a.place+i)%places, func(m Mode) bool { return m == Out })
	}
	return nil
}

// fillPlace fills those buffers of a place whose mode is wanted, outputs with poison and the rest with the inputs.
func (w *child) fillPlace(place int, wanted func(Mode) bool) {
	a := &w.arena
	for i := range a.copies {
		for j, r := range w.regions {
			switch to := a.view(w, place*a.copies+i, j); {
			case !wanted(r.Mode):
			case r.Mode == Out:
				fill(to, poison)
			default:
				copy(to, w.input(j))
			}
		}
	}
}

// limitTiming adapts the backstop to the work asked for; tune's own limit is the one that matters.
func (w *child) limitTiming(t *timeRequest) {
	_ = limitCPU(w.order.Limits.CPU * time.Duration(t.Samples+2))
}

// allocate makes room for so many copies in so many places, and maps the arena anew where it is too small.
func (w *child) allocate(copies, places int) error {
	a := &w.arena
	// The copies follow each other, each buffer shifted by an odd number of lines: were all of them to
	// begin at the same place of a page, loads would wait for unrelated stores.
	var offsets []int
	size := roundUp(8*copies*places*len(w.regions), alignment)
	for range copies * places {
		for i, r := range w.regions {
			size = roundUp(size, 4096) + (i+1)*17*alignment%4096
			offsets = append(offsets, size)
			size += r.Bytes
		}
	}
	if size = roundUp(size, hugePage) + hugePage; size > a.size {
		a.free()
		a.size = size
		if err := w.limitMemory(); err != nil {
			return err
		}
		base, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			*a = arena{}
			return fmt.Errorf("allocating %d bytes for %d copies of the buffers: %w", size, copies, err)
		}
		a.base = base
		// Large pages are advice: a system without them is slower, not wrong.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(base), uintptr(size), unix.MADV_HUGEPAGE)
	}
	first := unsafe.Add(a.base, roundUp(int(uintptr(a.base)), hugePage)-int(uintptr(a.base)))
	a.sets = unsafe.Slice((*unsafe.Pointer)(first), len(offsets))
	for i, offset := range offsets {
		a.sets[i] = unsafe.Add(first, offset)
	}
	a.copies, a.places, a.place, a.filled = copies, places, 0, make([]bool, places)
	return nil
}

// view returns buffer j of copy i, counted over all places.
func (a *arena) view(w *child, i, j int) []byte {
	return unsafe.Slice((*byte)(a.sets[i*len(w.regions)+j]), w.regions[j].Bytes)
}

// input returns buffer j in the shared memory.
func (w *child) input(j int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(w.addresses[j], w.regions[j].Start)), w.regions[j].Bytes)
}

// sample performs the prepared timing. It returns the seconds a call of each sample, and how many bytes it copied
// besides.
func (w *child) sample() ([]float64, int64, error) {
	a := &w.arena
	t := a.plan
	if t == nil {
		return nil, 0, errors.New("no timing is prepared")
	}
	w.limitTiming(t)
	seconds := make([]float64, 0, t.Samples)
	var restored int64
	for range t.Samples {
		a.place = (a.place + 1) % a.places
		// A buffer that is read and written would drift from call to call, into infinities or denormals
		// whose arithmetic takes another time.
		for i := range a.copies {
			for j, r := range w.regions {
				if r.Mode == InOut {
					restored += int64(copy(a.view(w, a.place*a.copies+i, j), w.input(j)))
				}
			}
		}
		if settles(t.Places, t.Calls) {
			w.run(1)
		}
		s := w.run(int64(t.Calls)) / float64(t.Calls)
		if math.IsNaN(s) || math.IsInf(s, 0) {
			s = 0 // which JSON can carry, and no reader takes for a time
		}
		seconds = append(seconds, s)
	}
	// Tune may want to verify what the last call wrote.
	last := a.place*a.copies + int((a.next+int64(a.copies)-1)%int64(a.copies))
	for j, r := range w.regions {
		if r.Mode == Out {
			restored += int64(copy(w.input(j), a.view(w, last, j)))
		}
	}
	a.plan = nil
	return seconds, restored, nil
}

// run performs timed calls and returns the seconds that they took together.
func (w *child) run(calls int64) float64 {
	const monotonic, threadCPU = 1, 3
	a, c := &w.arena, w.caller
	copy(c.dims(), a.plan.Dims)
	t := c.timing()
	*t = timing{
		call:  c.kernel,
		dims:  uintptr(unsafe.Pointer(&c.dims()[0])),
		nsets: int64(a.copies),
		nargs: int64(len(w.regions)),
		first: a.next,
		calls: calls,
		clock: threadCPU,
	}
	if len(a.sets) > 0 {
		t.sets = uintptr(unsafe.Pointer(&a.sets[a.place*a.copies*len(w.regions)]))
	}
	if a.plan.Wall {
		t.clock = monotonic
	}
	c.do(func() { purego.SyscallN(c.timer, uintptr(unsafe.Pointer(t))) })
	a.next = t.first
	return t.seconds
}
