package worker

import (
	"errors"
	"fmt"
	"time"
)

// Mode says how a kernel uses a buffer.
type Mode uint8

// The modes of a buffer.
const (
	In    Mode = iota + 1 // read only: writing to it is a fault
	Out                   // written; holds a pattern of NaNs before each call
	InOut                 // read and written; holds its input again before each call
)

// Buffer is one array argument of a kernel.
type Buffer struct {
	Name  string // for reasons
	Bytes int
	Mode  Mode
	Elem  int // bytes of an element; 0 means 8
}

// Options configure a worker. The zero value pins to core 0; set Core to -1 for no pinning.
type Options struct {
	// Core is the CPU that calls run on; -1 lets the system choose among all cores that tune may use. The threads that a
	// candidate starts are pinned with it.
	Core int
	// Limits bound a candidate.
	Limits Limits
	// Harness is the path of the shared object of HarnessC; "" for a worker that does not time.
	Harness string
	// Halt stops the process whenever nothing is asked of it, so that no thread of a candidate works meanwhile.
	Halt bool
	// Executable is the binary to start; it must call Main. "" means this one.
	Executable string
	// open disables Landlock, for tests of systems without it.
	open bool
}

// Limits bound what a candidate may use. A zero field takes the value of DefaultLimits.
type Limits struct {
	Wall   time.Duration // of one load or call
	CPU    time.Duration // of one load or call, all its threads together
	Memory int64         // bytes of address space in addition to the buffers; not enforced under the race detector
	Output int64         // bytes written to standard output and standard error together, from one load to the next
	File   int64         // bytes of any file that it writes; those in the folder of a candidate may have 64 times as many in all
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

// Clock is the clock that times a call.
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
	// Copies of all buffers that the calls rotate over. With 0 or 1 all calls use the same buffers (warm); with so many copies
	// that they exceed the last-level cache, the operands are cold.
	Copies int
	// Places is the number of places in memory that samples use in turn, each with all copies; a call before each sample brings
	// the first copy into the caches. 0 means 1.
	Places int
	// Window is roughly how many calls are timed as one stretch, where a request has at most MostStretches of them. Before each
	// stretch, inputs take other values of the pool and outputs are damaged. 0 means 1. On InOut buffers, and with several copies,
	// stretches have at most Copies calls, because each call has its own input.
	Window int
	// Sparse changes a line of each KiB of the inputs before a stretch, and not all of them. It is for buffers larger than the caches:
	// copying them would take longer than the calls, and fill the caches with what was copied.
	Sparse bool
	// Cold keeps the operands out of the caches: few lines change.
	Cold bool
	// Refill overwrites the outputs after each call, past the caches. With Sparse and Cold they would else hold nearly the result of the next
	// call on them.
	Refill bool
	// Touch reads the buffers after large changes, so that the caches hold them as they do after a call.
	Touch bool
	// Whole adds at least one call on wholly new inputs, also where only one is timed; see Timing.Whole.
	Whole bool
	// Known asks for one call, on exactly one of the variants with a known reference, which is not that of the call before, and for
	// evidence of it.
	Known bool
	// Threads is how many threads a call claims to use; 0 means 1.
	Threads int
	// Warm skips the warm-up calls, one on each copy: for calls that were made a moment ago, or calls so long that a first one
	// hardly differs.
	Warm bool
	// Idle calls a function that does nothing in place of the candidate: what such a request counts, and what its first calls take longer
	// than others, is the harness's. Its Timing has Calls, First and Each alone.
	Idle bool
	// Seed draws what changes between calls; the zero value draws a seed that nobody can predict.
	Seed [2]uint64
	// Around is called with the id of the worker's process before the calls of a request, and what it returns after them; nil for none.
	// Where the calls are repeated, so is Around.
	Around func(pid int) (end func())
	// Limit limits the CPU time of the whole request, for each thread; the wall time may be twice that and some seconds more. 0
	// stands for the limits of a call, once for each sample and once for the warm-up.
	Limit time.Duration
}

// MostStretches bounds the stretches of a request that count for samples. A request with more calls has longer ones than it asks for,
// as far as there are copies for them.
const MostStretches = 4096

// Timing is the result of timed calls. Times are seconds per call.
type Timing struct {
	Seconds []float64 // one a sample
	// First is the median time of the first call on new inputs, and Each that of the calls which follow on inputs that hardly differ; both
	// are 0 where there were too few stretches to tell. Whole is the median time of calls in stretches on wholly new inputs, 0 where there
	// were none.
	First, Each, Whole float64
	// Work is the CPU time of a call, of all threads together, as it is seen from outside; 0 where that is unknown.
	Work   float64
	Window int // as requested
	Calls  int // in all: those that warm up, and those that count for no sample, included
	// Evidence holds the inputs and outputs of some calls, drawn at random. It is valid until the worker's next Map, Time or
	// Close.
	Evidence []Evidence
}

// Evidence holds the inputs and outputs of a timed call.
type Evidence struct {
	Variant int      // the variant of the pool that was its input; -1 where its input was mixed from several
	Sample  int      // the sample, of Timing.Seconds, that it belongs to; -1 for none
	Given   [][]byte // by buffer; nil for Out
	Wrote   [][]byte // by buffer; nil for In
}

// BlindRequest asks for blind calls: calls of which the candidate cannot know which are looked at, timed from outside of its process.
type BlindRequest struct {
	Dims    []int64
	Calls   int   // at least 1; each works on a copy of the buffers
	Look    int   // at how many of them tune looks, at most at all
	Clock   Clock // must be set
	Threads int   // that a call claims to use; 0 means 1
	Cold    bool  // keeps the buffers out of the caches; otherwise they are read before each call
	Away    bool  // keeps the outputs out of the caches: stores past the caches take longer where they hold the line
	Whole   bool  // has some of the calls work on a variant whose reference is known; the candidate may have met it before
	// Idle calls a function that does nothing in place of the candidate, so that the time is that of everything beside the calls.
	Idle  bool
	Limit time.Duration // of the CPU time, for each thread; must be set
}

// BlindCalls returns how many blind calls a request may have where each writes so many bytes to so many buffers: all their results are kept until
// tune has drawn those that it looks at.
func BlindCalls(outputs, buffers int) int {
	const most, room = 256, 4 << 20
	return min(most, max(1, room/max(outputs+alignment*buffers, 1)))
}

// Blind is the result of blind calls.
type Blind struct {
	// Seconds is how long all calls took together: CPU time of all threads of the candidate, and with the clock Wall the
	// lesser of their mean and the elapsed time. It includes what is done beside them.
	Seconds float64
	// Own is the CPU time of the worker's own threads, which prepare the calls and copy their results. A candidate could have them do its work.
	Own      float64
	Evidence []Evidence // of the calls that were looked at
}

// Validate says what is wrong with a request.
func (r BlindRequest) Validate() error {
	if r.Limit == 0 {
		return errors.New("blind calls need a limit")
	}
	return TimeRequest{Dims: r.Dims, Calls: r.Calls, Samples: 1, Clock: r.Clock, Threads: r.Threads, Limit: r.Limit}.Validate()
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

// alignment is the alignment of the first element of each buffer.
const alignment = 64

// The sizes of the arguments of a call.
const (
	maxBuffers = 64
	maxDims    = 64
)
