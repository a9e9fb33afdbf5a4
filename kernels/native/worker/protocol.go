//go:build linux && (amd64 || arm64)

package worker

// The first arguments with which the binary starts itself; the second argument is a JSON object.
const (
	supervisorName = "tune-supervisor"
	workerName     = "tune-worker"
	limiterName    = "tune-limiter"
)

// The file descriptors that a supervisor inherits besides the standard ones. The last two are for a worker.
const (
	lifelineFD = 3
	controlFD  = 4
	faultFD    = 5
)

// The file descriptors of a worker.
const (
	workerControlFD = 3
	workerFaultFD   = 4
)

// order is the input that a supervisor is started with.
type order struct {
	Limits Limits
	Core   int
	Tune   int // its process id
	// Harness is the shared object of the timing loop, "" for none.
	Harness string `json:",omitempty"`
	// Scratch is the folder that a worker may write to; "" for none. Landlock is the version with which the supervisor has
	// enclosed the folder, 0 where it has not, for instance because Open is set.
	Scratch  string `json:",omitempty"`
	Landlock int    `json:",omitempty"`
	Open     bool   `json:",omitempty"`
	// Sharing lets the worker write to /dev/shm.
	Sharing bool `json:",omitempty"`
	// Command is the program and its arguments; nil starts a worker.
	Command []string `json:",omitempty"`
	Path    string   `json:",omitempty"`
	// Procs is the value of GOMAXPROCS in the environment of what the supervisor starts, which has another one itself; nil for none.
	Procs *string `json:",omitempty"`
	Tally bool    `json:",omitempty"` // see Command
}

// news is a report of a supervisor.
type news struct {
	PID    int    `json:",omitempty"` // the process that it started
	Error  string `json:",omitempty"` // why it could not start one
	Ended  bool   `json:",omitempty"` // the process and all its descendants are gone
	Code   int    `json:",omitempty"` // exit status
	Signal int    `json:",omitempty"` // or the signal that ended it
	User   int64  `json:",omitempty"` // CPU time of all of them, in nanoseconds
	System int64  `json:",omitempty"`
	Tally  int64  `json:",omitempty"` // the same, as the tally has it; 0 without one
	Peak   int64  `json:",omitempty"` // the largest memory of one of them, in bytes
	Excess string `json:",omitempty"` // why the supervisor ended them early
}

// request is a message to a worker. Exactly one of its parts is set.
type request struct {
	Seq     uint64
	Map     *mapRequest   `json:",omitempty"` // with the memory's descriptor
	Pool    *poolRequest  `json:",omitempty"` // with the descriptor of the pool
	Load    *loadRequest  `json:",omitempty"`
	Unload  bool          `json:",omitempty"`
	Call    *callRequest  `json:",omitempty"`
	Prepare *timeRequest  `json:",omitempty"`
	Sample  bool          `json:",omitempty"` // runs what was prepared
	Result  bool          `json:",omitempty"` // asks what Sample measured
	Blind   *blindRequest `json:",omitempty"`
	Keep    bool          `json:",omitempty"` // copies the results of blind calls to where tune reads them
}

type mapRequest struct {
	Regions  []region
	Evidence evidenceArea
}

// poolRequest gives the place of each buffer's content in a pool: in the first variant, -1 where the buffer has none. Each
// further variant is Stride bytes later.
type poolRequest struct {
	Size    int
	Whole   int // the number of variants, from the first, for whole stretches
	Count   int
	Stride  int
	Offsets []int
	Fixed   []bool // by buffer, whether it is only read and all variants have the same
}

type loadRequest struct {
	Path string
}

type callRequest struct {
	Dims []int64
}

type timeRequest struct {
	Dims    []int64
	Calls   int
	Samples int
	Wall    bool
	Copies  int
	Places  int
	Warm    bool
	Window  int
	Sparse  bool
	Cold    bool
	Refill  bool `json:",omitempty"`
	Touch   bool
	Whole   bool
	Known   bool `json:",omitempty"`
	Idle    bool `json:",omitempty"` // calls a function that does nothing
	Seed    [2]uint64
}

// reply answers the request with the same number.
type reply struct {
	Seq       uint64
	Error     string    `json:",omitempty"` // the worker failed
	Refused   string    `json:",omitempty"` // why the candidate cannot be loaded
	PID       int       `json:",omitempty"`
	Landlock  int       `json:",omitempty"` // of the order; with PID
	Thread    int       `json:",omitempty"` // the id of the thread that runs calls, of Load
	Sharing   bool      `json:",omitempty"` // the candidate is linked with a runtime that needs /dev/shm, of Load
	Addresses []uint64  `json:",omitempty"` // of the regions, of Map
	Arena     [2]uint64 `json:",omitzero"`  // start and end of the timing copies, of Prepare
	Left      string    `json:",omitempty"` // what the candidate left behind, of Unload
	Seconds   []float64 `json:",omitempty"` // a call, one a sample
	Spent     float64   `json:",omitempty"` // seconds, of Result from the start of Sample to its end, of Call in the candidate
	// The rest belongs to Result, in seconds.
	Timed float64 `json:",omitempty"` // the part of it spent in calls
	First float64 `json:",omitempty"` // the first call of a stretch; 0 where there are too few stretches
	Each  float64 `json:",omitempty"` // each other call of a stretch
	Whole float64 `json:",omitempty"` // a call on wholly new inputs
	Calls int     `json:",omitempty"` // how many there were
	Wall  float64 `json:",omitempty"` // of all by the wall clock
	Waits int     `json:",omitempty"` // how often the thread waited after its first stretch
	// Bytes and Stretches count the work outside of calls.
	Bytes     int          `json:",omitempty"`
	Stretches int          `json:",omitempty"`
	Evidence  []evidenceOf `json:",omitempty"`
}

// evidenceOf describes a slot of evidence.
type evidenceOf struct {
	Slot    int
	Variant int // the variant that was the input of the call; -1 where it was mixed
	Sample  int // the sample that the call belongs to; -1 for none
}

// maxMessage limits a message, well below what a socket accepts.
const maxMessage = 160 << 10
