//go:build linux && (amd64 || arm64)

package worker

// The names under which the binary starts itself, as its first argument; the second is a JSON object.
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

// order is what a supervisor is started with.
type order struct {
	Limits Limits
	Core   int
	Tune   int // its process
	// Harness is the shared object of the timing loop, "" for none.
	Harness string `json:",omitempty"`
	// Scratch is the folder that a worker may write to; "" is none. Landlock is the version that the supervisor has
	// enclosed it with, 0 where it has not, as where Open asks for that.
	Scratch  string `json:",omitempty"`
	Landlock int    `json:",omitempty"`
	Open     bool   `json:",omitempty"`
	// Command is the program and its arguments; nil starts a worker.
	Command []string `json:",omitempty"`
	Path    string   `json:",omitempty"`
}

// news is what a supervisor reports.
type news struct {
	PID    int    `json:",omitempty"` // it started this process
	Error  string `json:",omitempty"` // it could not
	Ended  bool   `json:",omitempty"` // the process and all that descended from it are gone
	Code   int    `json:",omitempty"` // exit status
	Signal int    `json:",omitempty"` // or the signal that ended it
	User   int64  `json:",omitempty"` // CPU time of all of them, in nanoseconds
	System int64  `json:",omitempty"`
	Peak   int64  `json:",omitempty"` // the most memory that one of them had, in bytes
	Excess string `json:",omitempty"` // why the supervisor ended them before their time
}

// request is a message to a worker. Exactly one of its parts is set.
type request struct {
	Seq     uint64
	Map     *mapRequest  `json:",omitempty"` // with the memory's descriptor
	Pool    *poolRequest `json:",omitempty"` // with the pool's
	Load    *loadRequest `json:",omitempty"`
	Unload  bool         `json:",omitempty"`
	Call    *callRequest `json:",omitempty"`
	Prepare *timeRequest `json:",omitempty"`
	Sample  bool         `json:",omitempty"` // of what was prepared
}

type mapRequest struct {
	Regions  []region
	Evidence evidenceArea
}

// poolRequest says where the content of each buffer lies in a pool: in the first variant, -1 where it has none. Those of the
// next one lie Stride bytes further.
type poolRequest struct {
	Size    int
	Whole   int // variants that whole stretches work on, the first ones
	Count   int
	Stride  int
	Offsets []int
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
	Touch   bool
	Seed    [2]uint64
}

// reply answers the request of the same number.
type reply struct {
	Seq       uint64
	Error     string    `json:",omitempty"` // the worker failed
	Refused   string    `json:",omitempty"` // the candidate cannot be loaded
	PID       int       `json:",omitempty"`
	Landlock  int       `json:",omitempty"` // of the order; with PID
	Thread    int       `json:",omitempty"` // that calls run on, of Load
	Addresses []uint64  `json:",omitempty"` // of the regions, of Map
	Arena     [2]uint64 `json:",omitzero"`  // begin and end of the timing copies, of Prepare
	Left      string    `json:",omitempty"` // what the candidate left over, of Unload
	Seconds   []float64 `json:",omitempty"` // a call, one a sample
	// The rest is of Sample, in seconds.
	Spent float64 `json:",omitempty"` // between its begin and its end
	Timed float64 `json:",omitempty"` // of that in calls
	Long  float64 `json:",omitempty"` // a call, in the median of the stretches of that kind; 0 where there are few
	Short float64 `json:",omitempty"`
	Whole float64 `json:",omitempty"`
	// LongCalls and ShortCalls are how many calls those had on average.
	LongCalls  float64 `json:",omitempty"`
	ShortCalls float64 `json:",omitempty"`
	// Bytes and Stretches are what was done besides the calls.
	Bytes     int          `json:",omitempty"`
	Stretches int          `json:",omitempty"`
	Evidence  []evidenceOf `json:",omitempty"`
}

// evidenceOf says what a slot of evidence holds.
type evidenceOf struct {
	Slot    int
	Variant int // that the call worked on; -1 where it was mixed
	Sample  int // that the call counts for; -1 for none
}

// maxMessage bounds a message, well below what a socket takes.
const maxMessage = 160 << 10
