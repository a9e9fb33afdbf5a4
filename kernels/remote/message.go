package remote

import (
	"time"

	"tune/kernels/native"
	"tune/space"
)

// The subjects of the wire, version 1.
const (
	subjectRun   = "tune.v1.run"   // coordinators announce their runs
	subjectRuns  = "tune.v1.runs"  // workers ask for announcements
	subjectWho   = "tune.v1.who"   // anybody asks which workers there are
	subjectTasks = "tune.v1.task." // and the run: its work queue
	subjectTold  = "tune.v1.told." // and the run: requests to take an outcome
	subjectAlive = "tune.v1.live." // and the run: which trials a worker has in hand
	subjectFile  = "tune.v1.file." // and the run: requests for a piece of a file that the kernel is made of
	subjectJoin  = "tune.v1.join." // and the run: requests of workers to be taken, with their costs of the reference
	subjectDrop  = "tune.v1.drop." // and the run: the coordinator waits for a trial no more
	subjectDesk  = "tune.v1.desk." // and the process of a worker: calls of coordinators whose run is tuned for its machine
	subjectLong  = "tune.v1.long." // and a desk: requests for a piece of a long result
)

// streamOf returns the name of the stream of a run.
func streamOf(id string) string { return "TUNE_" + id }

// consumerName is the name of the consumer that all workers of a run share.
const consumerName = "workers"

// DefaultLease is how long a worker may be silent before its trials are given to others.
const DefaultLease = 10 * time.Second

// Job is a run as workers see it.
type Job struct {
	ID      string `json:"id"`      // the same whenever the run is resumed
	Sitting string `json:"sitting"` // differs each time
	Tool    string `json:"tool"`    // version of tune

	Kernel    string `json:"kernel"`
	Version   string `json:"version"`    // of the kernel
	Shape     string `json:"shape"`      // in its text form
	Space     string `json:"space"`      // the fingerprint of the space
	CheckSeed uint64 `json:"check_seed"` // of the inputs that candidates are checked on

	// Metrics are measured of each candidate besides; see space.Measured.
	Metrics []string `json:"metrics,omitempty"`

	// Files is the list of the files that a user's kernel is made of; nil for a kernel that is built in.
	Files *Content `json:"files,omitempty"`
	// Only is the name of the worker that alone evaluates; "" for all that can.
	Only string `json:"only,omitempty"`
	// Joins says that a worker serves the run only after the coordinator has compared its costs of the reference with its own.
	Joins bool `json:"joins,omitempty"`
	// Timed says that costs are measured. Then all workers have this fingerprint of the processor, and these compilers.
	Timed       bool     `json:"timed,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Compilers   []string `json:"compilers,omitempty"`
	// Reference is the key of the point that all evaluate; "" where Joins is not set, and before the coordinator itself has its costs.
	Reference string `json:"reference,omitempty"`

	On    string        `json:"on,omitempty"`    // which workers the run wants: see ParseWants
	Lease time.Duration `json:"lease"`           // nanoseconds
	Ended bool          `json:"ended,omitempty"` // the run wants nothing more
}

// task is a trial in the work queue.
type task struct {
	Sitting  string `json:"sitting"`
	Trial    int    `json:"trial"`
	Key      string `json:"key"`
	Fidelity int    `json:"fidelity,omitempty"`
}

// told is what a worker tells of a task: an outcome, or in Error why it has none.
type told struct {
	Worker  string        `json:"worker"`
	Sitting string        `json:"sitting"`
	Trial   int           `json:"trial"`
	Key     string        `json:"key"`
	Outcome space.Outcome `json:"outcome,omitzero"`
	Error   string        `json:"error,omitempty"`
	Given   bool          `json:"given,omitempty"` // the error is that it was given out too often
}

// The answers to a told.
const (
	answerTaken = "taken" // the coordinator has it
	answerKnown = "known" // nobody needs it any more
	answerAgain = "again" // the task is to be given out again
	answerLeave = "leave" // the worker is set aside
)

// join is the request of a worker to be taken.
type join struct {
	Worker  string `json:"worker"`
	Self    string `json:"self"` // differs for each process
	Sitting string `json:"sitting"`
	Machine string `json:"machine,omitempty"` // the same for all workers of a machine; "" where nothing tells it
	Asks    bool   `json:"asks,omitempty"`    // the worker asks whether it may measure, and has no costs yet
	Costs
	Failed string `json:"failed,omitempty"` // why there are no costs
}

// Costs are what a machine measures to be compared with others.
type Costs struct {
	Reference []float64 `json:"reference,omitempty"` // costs of the reference, one for each evaluation
	Pace      float64   `json:"pace,omitempty"`      // seconds that a loop of fixed work takes; 0 where that is not known
}

// joined is the answer to a join.
type joined struct {
	Taken bool          `json:"taken"`           // or where the worker asks: it may measure
	Why   string        `json:"why,omitempty"`   // not
	Again time.Duration `json:"again,omitempty"` // after which the worker asks again; 0 for never
	Later bool          `json:"later,omitempty"` // nothing changes until then
}

// dropped names a trial that the coordinator does not wait for any more.
type dropped struct {
	Sitting string `json:"sitting"`
	Trial   int    `json:"trial"`
}

// alive says which trials a worker has in hand.
type alive struct {
	Worker string `json:"worker"`
	Trials []int  `json:"trials"`
}

// Info is what a worker says of itself.
type Info struct {
	Name        string     `json:"name"`
	Tool        string     `json:"tool"` // version of tune
	OS          string     `json:"os"`
	Arch        string     `json:"arch"`
	CPU         string     `json:"cpu"`
	Fingerprint string     `json:"fingerprint"` // of the processor
	Go          string     `json:"go"`          // version that tune was built with
	Self        string     `json:"self"`        // differs for each process
	ISAs        []string   `json:"isas"`        // instruction sets
	Cores       int        `json:"cores"`
	Load        float64    `json:"load"` // of the machine, over the last minute
	Jobs        int        `json:"jobs"` // candidates evaluated at once
	Busy        int        `json:"busy"` // of them at work
	Kernels     []KernelOf `json:"kernels"`
	UserCode    bool       `json:"user_code,omitempty"` // whether it evaluates kernels of users
	Compilers   []string   `json:"compilers,omitempty"`
	// Roofs are the measured rates of one core, as 'tune machine' keeps them; nil where it was not called there.
	Roofs     []native.Roof `json:"roofs,omitempty"`
	Evaluated int           `json:"evaluated"`         // since the worker started
	Refuses   []RefusedOf   `json:"refuses,omitempty"` // runs that are announced
}

// KernelOf is a kernel that a worker evaluates.
type KernelOf struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// RefusedOf is a run that a worker does not serve.
type RefusedOf struct {
	Run    string `json:"run,omitempty"`
	Kernel string `json:"kernel"`
	Why    string `json:"why"`
}
