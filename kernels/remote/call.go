package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

// What a coordinator asks of its target.
const (
	doOpen      = "open"      // a kernel at a shape: the answer is an openedKernel
	doBuild     = "build"     // a point: a builtCandidate, whose number is that of the call
	doCheck     = "check"     // a candidate on the inputs of a seed: a progressed
	doScore     = "score"     // a candidate: a scored
	doMeasure   = "measure"   // metrics of a candidate: a measured
	doArtifacts = "artifacts" // the files of a candidate: a list of exported
	doCompare   = "compare"   // candidates side by side: a compared
	doThreads   = "threads"   // of a point: a number
	doWeak      = "weak"      // the outputs of which checks prove little: a list of space.WeakOutput
	doExamine   = "examine"   // the problem as a whole: nothing
	doSettle    = "settle"    // on a baseline: the presets from then on
	doHere      = "here"      // nothing: the coordinator is still there; nobody answers
	doDrop      = "drop"      // a call: the coordinator does not wait for it any more; nobody answers
	doLeave     = "leave"     // everything; nobody answers
)

// call is what a coordinator asks of its target. It is repeated until it is answered.
type call struct {
	Desk   string `json:"desk"`   // of the coordinator's process
	Number int    `json:"number"` // the same whenever the call is repeated
	Do     string `json:"do"`

	Open      *opening `json:"open,omitempty"`
	Key       string   `json:"key,omitempty"`
	Fidelity  int      `json:"fidelity,omitempty"`
	Candidate int      `json:"candidate,omitempty"`
	Alone     bool     `json:"alone,omitempty"` // whether the candidate runs alone from now on
	Seeds     []uint64 `json:"seeds,omitempty"` // of one for a check
	Names     []string `json:"names,omitempty"` // of metrics
	Finalists []int    `json:"finalists,omitempty"`
	Series    *series  `json:"series,omitempty"`
}

// opening names a kernel at a shape.
type opening struct {
	Run     string   `json:"run"` // as the ID of a Job
	Kernel  string   `json:"kernel"`
	Version string   `json:"version"`
	Shape   string   `json:"shape"`
	Files   *Content `json:"files,omitempty"` // as in Job
}

// series is a kernels.Series without its functions.
type series struct {
	Limit   time.Duration `json:"limit"`
	Confirm bool          `json:"confirm,omitempty"`
	Seed    uint64        `json:"seed"`
	Peak    bool          `json:"peak,omitempty"`
}

// reply answers a call.
type reply struct {
	Number  int  `json:"number"`
	Working bool `json:"working,omitempty"` // the call is under way
	Pair    int  `json:"pair,omitempty"`    // of a comparison under way
	Of      int  `json:"of,omitempty"`
	Unknown bool `json:"unknown,omitempty"` // nothing is known of the desk: the worker has begun again
	// Fault says that a candidate is at fault, and Error what else went wrong.
	Fault  *fault          `json:"fault,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Long   *Content        `json:"long,omitempty"` // the result, where it is too long for a message
}

// fault is a *kernels.Rejection.
type fault struct {
	Status space.Status `json:"status"`
	Reason string       `json:"reason"`
}

// faultOf returns the rejection in the chain of an error; nil where there is none.
func faultOf(err error) *fault {
	if r := kernels.AsRejection(err); r != nil {
		return &fault{r.Status, r.Reason}
	}
	return nil
}

// rejection is the inverse of faultOf. What a worker says is made safe to show.
func (f *fault) rejection() error {
	if f.Status == space.StatusUnset || f.Status == space.OK {
		return errors.New("a worker says of a candidate that it is at fault, and not of what")
	}
	return kernels.Reject(f.Status, "%s", plain.Clip(f.Reason, mostReason))
}

// mostReason is how many characters of a reason are kept.
const mostReason = 4000

// openedKernel is the problem of a kernel at a shape, as a coordinator needs it.
type openedKernel struct {
	Space       string          `json:"space"`       // in its YAML form
	Fingerprint string          `json:"fingerprint"` // of the space
	Presets     []presetOf      `json:"presets"`
	Checking    uint8           `json:"checking"`
	Launches    bool            `json:"launches,omitempty"`
	Lacks       []string        `json:"lacks"` // see kernels.Traits; null where it is of no concern
	Levels      int             `json:"levels,omitempty"`
	Blind       []string        `json:"blind,omitempty"`
	Threads     bool            `json:"threads,omitempty"`
	Weak        bool            `json:"weak,omitempty"`
	Examine     bool            `json:"examine,omitempty"`
	Compare     bool            `json:"compare,omitempty"`
	Finalists   int             `json:"finalists,omitempty"` // at most; 0 for no limit
	Baselines   []string        `json:"baselines"`           // keys; null where the baseline stays
	Measures    []unmeasuredFor `json:"measures"`            // each of space.Measured; null where nothing is measured besides
}

// presetOf is a kernels.Preset.
type presetOf struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Key   string `json:"key"`
	Start bool   `json:"start,omitempty"`
	First bool   `json:"first,omitempty"`
}

// unmeasuredFor says why a machine does not measure a metric; "" where it does.
type unmeasuredFor struct {
	Name string `json:"name"`
	Why  string `json:"why,omitempty"`
}

// builtCandidate says what a candidate can do.
type builtCandidate struct {
	Deviates  bool             `json:"deviates,omitempty"` // its checks measure errors
	Repacking *space.Repacking `json:"repacking,omitempty"`
}

// progressed is what the checks and calls of a candidate have found so far.
type progressed struct {
	Deviation kernels.Deviation `json:"deviation"`
}

// scored is the score of a candidate.
type scored struct {
	progressed
	Cost    float64        `json:"cost"`
	Metrics []space.Metric `json:"metrics,omitempty"`
}

// measuredOf are further metrics of a candidate.
type measuredOf struct {
	progressed
	Metrics []space.Metric `json:"metrics,omitempty"`
}

// exported is a file of an export.
type exported struct {
	Name    string `json:"name"`
	Derived bool   `json:"derived,omitempty"`
	Content
}

// comparedAll is a kernels.Final. Ratios and costs of finalists that failed are 0.
type comparedAll struct {
	kernels.Final
	Faults     []*fault     `json:"faults"`     // of the finalists; null for one that did not fail
	Progressed []progressed `json:"progressed"` // of the baseline, and then of the finalists
}

// Limits of what a target answers.
const (
	mostResult    = 4 << 20  // bytes of a result
	inMessage     = 64 << 10 // bytes of a result that is part of its message
	mostPresets   = 1000
	mostArtifacts = 20
	mostRatios    = 100_000
)

// encode writes a result.
func encode(result any) (json.RawMessage, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be written: %w", err)
	}
	if len(text) > mostResult {
		return nil, fmt.Errorf("the result has %d bytes: want at most %d", len(text), mostResult)
	}
	return text, nil
}
