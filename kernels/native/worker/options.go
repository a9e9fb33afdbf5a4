package worker

import (
	"fmt"
	"time"
)

// Mode says what a kernel does with a buffer.
type Mode uint8

// The modes of a buffer.
const (
	In    Mode = iota + 1 // read only: a write to it is a fault
	Out                   // written; holds a pattern of NaNs before each call
	InOut                 // read and written; holds its input again before each call
)

// Buffer is one array argument of a kernel.
type Buffer struct {
	Name  string // for reasons
	Bytes int
	Mode  Mode
}

// Options configure a worker. The zero value pins to core 0; set Core to -1 for no pinning.
type Options struct {
	// Core is the CPU that calls run on; -1 leaves the choice, and all cores of tune's own, to the system.
	// The threads that a candidate starts are pinned with it.
	Core int
	// Limits bound a candidate.
	Limits Limits
	// Harness is the path of the shared object of HarnessC; "" is for a worker that does not time.
	Harness string
	// Executable is the binary to start, one that calls Main; "" means this one.
	Executable string
	// open leaves Landlock out, for tests of systems without.
	open bool
}

// Limits bound what a candidate may use. A zero field takes the value of DefaultLimits.
type Limits struct {
	Wall   time.Duration // of one load or call
	CPU    time.Duration // of one load or call, all its threads together
	Memory int64         // bytes of address space besides the buffers; not enforced under the race detector
	Output int64         // bytes written to stdout and stderr together, from one load to the next
	File   int64         // bytes of any file that it writes
}

// DefaultLimits returns the limits that zero fields stand for.
func DefaultLimits() Limits {
	return Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 4 << 30, Output: 64 << 10, File: 1 << 20}
}

// orElse replaces zero fields by those of d.
func (l Limits) orElse(d Limits) Limits {
	if l.Wall == 0 {
		l.Wall = d.Wall
	}
	if l.CPU == 0 {
		l.CPU = d.CPU
	}
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.Output == 0 {
		l.Output = d.Output
	}
	if l.File == 0 {
		l.File = d.File
	}
	return l
}

// Validate says which limit is out of range.
func (l Limits) Validate() error {
	if l.Wall < 0 || l.CPU < 0 || l.Memory < 0 || l.Output < 0 || l.File < 0 {
		return fmt.Errorf("a limit of a worker is negative: %+v", l)
	}
	return nil
}

// Clock is what a call is timed by.
type Clock uint8

// The clocks.
const (
	CPU  Clock = iota + 1 // CPU time of the calling thread: for kernels of one thread
	Wall                  // elapsed time: for kernels of several threads
)

// TimeRequest asks for timed calls.
type TimeRequest struct {
	Dims    []int64
	Calls   int   // in a row for one sample; at least 1
	Samples int   // between 1 and 4096
	Clock   Clock // must be set
	// Copies of all buffers that the calls rotate over. 0 and 1 keep calling on the same buffers (warm); a
	// number whose copies together exceed the last-level cache times with cold operands.
	Copies int
	// Places in memory that the samples take turns with, each with all copies; a call before each sample brings the first
	// copy into the caches. 0 is 1.
	Places int
	// Window is how many calls are timed as one, about: before each stretch of so many, inputs take other values of the
	// pool and outputs are damaged. 0 is 1. Calls on buffers that are read and written come in stretches of at the most
	// Copies, because each one needs its input.
	Window int
	// Sparse changes a few lines of the inputs before a stretch, and not all of them: for buffers beyond the caches, whose
	// copying would take longer than the calls and leave the caches to what was copied.
	Sparse bool
	// Cold leaves the operands out of the caches: few lines change.
	Cold bool
	// Touch reads the buffers after much of them has changed, so that the caches hold them as they do after a call.
	Touch bool
	// Threads is how many threads a call is said to use; 0 is 1.
	Threads int
	// Warm leaves out the calls that warm up, one on each copy: for calls that were made a moment ago, or that are
	// so long that a first one hardly differs.
	Warm bool
	// Limit bounds the CPU time of the whole request, for each thread; twice as much and some seconds more may pass by the
	// wall. 0 stands for the limits of a call, once for each sample and once for the warm-up.
	Limit time.Duration
}

// Timing is what timed calls came to. Times are seconds a call.
type Timing struct {
	Seconds []float64 // one a sample
	// Long and Short are those of long and of short stretches, in the median; 0 where there were fewer than three. LongCalls
	// and ShortCalls are how many calls these have on average. Whole are those on inputs that were written anew; 0 where there
	// were none. Where Short is far above Long, or Whole above either, the first call on new inputs takes longer than those
	// that follow.
	Long, Short, Whole    float64
	LongCalls, ShortCalls float64
	Window                int // that was asked for
	// Evidence is what some calls, drawn at random, were given and what they wrote. It is valid until the worker's next
	// Map, Time or Close.
	Evidence []Evidence
}

// Evidence is what a timed call was given and what it wrote.
type Evidence struct {
	Variant int      // of the pool that it worked on; -1 where it worked on parts of several
	Sample  int      // of Timing.Seconds that it counts for; -1 for none
	Given   [][]byte // by buffer; nil for Out
	Wrote   [][]byte // by buffer; nil for In
}

// maxSamples is the largest number of samples in one request.
const maxSamples = 4096

// Validate says what is wrong with a request.
func (r TimeRequest) Validate() error {
	switch {
	case r.Calls < 1:
		return fmt.Errorf("timing needs at least 1 call a sample, not %d", r.Calls)
	case r.Samples < 1 || r.Samples > maxSamples:
		return fmt.Errorf("timing takes 1 to %d samples, not %d", maxSamples, r.Samples)
	case r.Clock != CPU && r.Clock != Wall:
		return fmt.Errorf("timing needs a clock")
	case r.Copies < 0:
		return fmt.Errorf("timing takes no negative number of copies: %d", r.Copies)
	case r.Window < 0:
		return fmt.Errorf("timing takes no negative number of calls as one: %d", r.Window)
	case r.Threads < 0:
		return fmt.Errorf("a call has no negative number of threads: %d", r.Threads)
	case r.Places < 0:
		return fmt.Errorf("timing takes no negative number of places: %d", r.Places)
	case len(r.Dims) > maxDims:
		return fmt.Errorf("%d dimensions are more than the limit of %d", len(r.Dims), maxDims)
	case r.Limit < 0:
		return fmt.Errorf("the limit of a timing is negative: %v", r.Limit)
	}
	return nil
}

// The sizes of what a call passes.
const (
	maxBuffers = 64
	maxDims    = 64
)
