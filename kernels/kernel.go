package kernels

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tune/space"
)

// Kernel is a named family of programs that compute one thing.
type Kernel interface {
	// Info describes the kernel and the shape that a problem of it needs.
	Info() Info
	// Problem makes the instance of the given shape. It fails where the shape is out of range.
	Problem(Shape) (Problem, error)
}

// Info describes a kernel.
type Info struct {
	Name    string  // the name users type, e.g. "treehash"
	Doc     string  // one line
	Version string  // changes whenever a point may build to another program
	Unit    string  // of the cost: "cycles" or "ns"
	Exact   bool    // whether the same point always has the same cost
	Shape   []Field // the fields of a shape, in order, with their defaults
}

// Problem is one concrete instance of a kernel.
type Problem interface {
	// Space holds the points of this problem on this machine.
	Space() *space.Space
	// Presets are named points. The first is the baseline that others are compared with.
	Presets() []Preset
	// Build generates the candidate of a point. A point that cannot be built is a *Rejection; any
	// other error means that the generator itself failed.
	Build(context.Context, space.Point) (Candidate, error)
}

// Preset is a named point of a problem's space.
type Preset struct {
	Name  string
	Doc   string
	Point space.Point
}

// Candidate is one built program. It is used by one goroutine at a time.
type Candidate interface {
	// Check runs the candidate on the inputs drawn from seed and compares it with the reference.
	// It returns a *Rejection when the candidate is at fault.
	Check(ctx context.Context, seed uint64) error
	// Score returns the cost of a candidate that has passed a check, at the given fidelity (see
	// space.Outcome).
	Score(ctx context.Context, fidelity int) (Score, error)
	// Artifacts are the files that an export holds, in order; the first is the program itself.
	Artifacts() ([]Artifact, error)
}

// Loader is implemented by problems that can read a saved program back and check it without its
// generator.
type Loader interface {
	// Load reads the program artifact of an export.
	Load(io.Reader) (Candidate, error)
}

// Score is what a right candidate costs.
type Score struct {
	Cost    float64 // in Info.Unit
	Metrics []space.Metric
}

// Artifact is a file of an export.
type Artifact struct {
	Name  string // after the schedule's own name: "program.json" becomes best.program.json
	Write func(io.Writer) error
}

// Rejection says that a candidate, not the tuner, is at fault.
type Rejection struct {
	Status space.Status
	Reason string
}

// Error returns the status and the reason.
func (r *Rejection) Error() string { return r.Status.String() + ": " + r.Reason }

// Reject returns a *Rejection with a formatted reason.
func Reject(status space.Status, format string, args ...any) error {
	return &Rejection{Status: status, Reason: fmt.Sprintf(format, args...)}
}

// AsRejection returns the rejection in err's chain, or nil.
func AsRejection(err error) *Rejection {
	if r, ok := errors.AsType[*Rejection](err); ok {
		return r
	}
	return nil
}
