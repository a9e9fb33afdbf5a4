package kernels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tune/internal/plain"
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
	Version string  // changes whenever a point may build to a different program
	Unit    string  // of the cost: "cycles", "ns", or as the file of a user's kernel or of measurements says
	Exact   bool    // whether the same point always has the same cost
	Shape   []Field // the fields of a shape, in order, with their defaults
	// Asked says that a client of tune scores the points (package asktell), so that no command of tune alone finds one again.
	Asked bool
	// Function says that the candidates are functions of a Go program (package gofunc), which only that program can call.
	Function bool
	// Rate is the metric that tells users how fast a candidate is: "gflops", "gops" or "gbs". "" means the first of these that
	// the score has.
	Rate string
	// Metrics are the names of the numbers of a score beside the cost that are the kernel's own, and that a search may have as objectives: those
	// of commands, or the slots of a machine. nil means none.
	Metrics []string
	// Maximised are those of them of which more is better, for objectives that do not say it.
	Maximised []string
	// Strategy is the name of the search strategy that does best on the kernel; "" where that is unknown.
	Strategy string
	// Files says which files the kernel is made of; the zero value is right for a built-in kernel.
	Files Files
}

// Problem is one concrete instance of a kernel.
type Problem interface {
	// Space holds the points of this problem on this machine.
	Space() *space.Space
	// Presets are named points. The first is the baseline that others are compared with.
	Presets() []Preset
	// Build generates the candidate of a point. A point that cannot be built is a *Rejection; any other error means that the
	// generator failed.
	Build(context.Context, space.Point) (Candidate, error)
	// Traits says what else the problem can do. Searches call it for every point, so that it must be cheap; it returns the same
	// at each call.
	Traits() Traits
}

// Preset is a named point of a problem's space.
type Preset struct {
	Name  string
	Doc   string
	Point space.Point
	// Start says that a search may start from this point: as far as its author knows, it is good for the problem.
	Start bool
	// First says that a search evaluates this point before all others, because the user wants it; see [Firsts].
	First bool
}

// Starts returns the points of the presets that a search may start from.
func Starts(p Problem) []space.Point {
	return pointsOf(p, func(preset Preset) bool { return preset.Start })
}

// Firsts returns the points of the presets that a search evaluates before all others, in their order.
func Firsts(p Problem) []space.Point {
	return pointsOf(p, func(preset Preset) bool { return preset.First })
}

func pointsOf(p Problem, is func(Preset) bool) []space.Point {
	var out []space.Point
	for _, preset := range p.Presets() {
		if is(preset) {
			out = append(out, preset.Point)
		}
	}
	return out
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
	// Abilities says what else the candidate can do.
	Abilities() Abilities
}

// Series says how a CompareFunc measures.
type Series struct {
	// Limit is roughly how long it takes; to get an interval it may take several times that.
	Limit time.Duration
	// Confirm is set for a single finalist that was chosen before. Then every pair runs in processes of its own, so that the luck
	// of one memory layout does not affect a whole series, and Seed draws which side of a pair is first.
	Confirm bool
	Seed    uint64
	// Peak asks for Final.PeakShare; the baseline then takes its samples without a break.
	Peak bool
	// Observe, if not nil, is called before each pair with its number and how many are planned; 0 where that is not known.
	Observe func(pair, of int)
	// Sure, if not nil, is called after each pair with the costs of the baseline and of the single finalist, and ends the series where
	// it returns true. There are then as many pairs as Limit allows, all of which count: what looks at each of them has to reckon with
	// that. It belongs to Confirm. It is not called where costs need no pairs, because the kernel says how far runs may differ.
	Sure func(baseline, finalist float64) bool
}

// Peer is a library's implementation of a problem.
type Peer struct {
	Name      string
	Candidate Candidate // nil where the library is not installed
	Install   string    // how to get the library, such as "on Debian: apt-get install libblis4"
	// Optional says that the peer is one of several ways of a library, and is left out where its check says that there is no such way:
	// with status Invalid.
	Optional bool
}

// Final is the result of a CompareFunc.
type Final struct {
	Comparisons []Comparison // in the order of the finalists
	Best        int          // the index of the one that is ahead of all others, see Ahead; -1 where all failed
	Machine     MachineState // during the measurement
	// PeakShare is the baseline's share of the peak rate of its cores, measured by a loop beside each of its turns that does nothing but
	// the kernel's operations, or reads or copies as many bytes, whichever takes longer. PeakOf names the loop. It is a median, and 0
	// where it was not asked for or is unknown.
	PeakShare float64
	PeakOf    string
}

// Confirmed is the confidence of the interval of a confirming series: each end is wrong one time in 100.
const Confirmed = 0.98

// Comparison is one finalist against the baseline.
type Comparison struct {
	Err   error   // a *Rejection where the finalist is at fault; all else is then zero
	Ratio float64 // baseline over finalist, over the pairs: above 1 the finalist is faster
	// Low and High are the interval of the ratio, with 95 % confidence, or Confirmed in a confirming series; both are 0 where
	// there were too few pairs.
	Low, High float64
	Cost      float64 // of the finalist, in Info.Unit: Baseline over Ratio
	Baseline  float64 // the cost of the baseline in the same pairs
	Pairs     int
	Ratios    []float64      // of the single pairs, baseline over finalist; nil where they are not known
	Metrics   []space.Metric // as of a Score
	// Indistinct says that the measurements do not distinguish this finalist from the best one. For the best one itself it says
	// that they do not distinguish it from the baseline.
	Indistinct bool
	// TooFew says that Indistinct is so only because there were too few pairs for an interval: nothing is known of the difference.
	TooFew bool
	// Unverified says that the machine was not idle although the measurement needs that.
	Unverified bool
}

// Ahead reports whether the finalist of this comparison is proven to be better by more than another one: whether its interval has
// the greater lower end. One without an interval is behind all that have one.
func (c Comparison) Ahead(of Comparison) bool {
	if c.Low != of.Low {
		return c.Low > of.Low
	}
	return c.Ratio > of.Ratio
}

// finite reports whether all numbers of the comparison are finite.
func (c Comparison) finite() bool {
	return space.Finite(c.Ratio) && space.Finite(c.Low) && space.Finite(c.High) && space.Finite(c.Cost) && space.Finite(c.Baseline)
}

// Faster reports whether the finalist is proven to be faster than the baseline.
func (c Comparison) Faster() bool { return c.Err == nil && !c.Unverified && c.Low > 1 }

// Slower reports whether the finalist looks slower than the baseline, proven or not.
func (c Comparison) Slower() bool { return c.Pairs > 0 && c.Ratio < 1 }

// MachineState is how quiet a machine was during a measurement.
type MachineState struct {
	Load  float64 // average number of threads that wanted to run, over the last minute
	Busy  float64 // share of all cores that worked, the measurement's own included
	Steal float64 // share of all cores that the host gave to others
	// Drift is the difference between the slowest and the fastest run of a loop of fixed work, over their median. It shows
	// changes of the clock frequency, and other work on the core. Of many runs the extreme tenth on either side does not count.
	Drift  float64
	Probes int // runs of that loop
}

// Origin says where scores that were not measured here come from; unknown fields are "".
type Origin struct{ Space, Device, Kernel, Objective string }

// Score is what a right candidate costs.
type Score struct {
	Cost    float64 // in Info.Unit
	Metrics []space.Metric
}

// Artifact is a file of an export.
type Artifact struct {
	Name  string // after the schedule's own name: "program.json" becomes best.program.json
	Write func(io.Writer) error
	// Earlier, if not nil, writes the file as an earlier version of tune did. Files of both forms are accepted as what the point
	// builds.
	Earlier func(io.Writer) error
	// Derived says that the file can be made again from the program, and may be much larger: an export does not wait until it is
	// on disk.
	Derived bool
}

// WriteJSON returns what writes a value as indented JSON, for [Artifact.Write].
func WriteJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
}

// Rejection says that a candidate is at fault, and not the tuner.
type Rejection struct {
	Status space.Status
	Reason string
}

// Error returns the status and the reason.
func (r *Rejection) Error() string { return r.Status.String() + ": " + r.Reason }

// Reject returns a *Rejection with a formatted reason. Text in it from a candidate or a compiler is made safe for terminals and
// web pages.
func Reject(status space.Status, format string, args ...any) error {
	return &Rejection{Status: status, Reason: plain.Text(fmt.Sprintf(format, args...))}
}

// AsRejection returns the rejection in err's chain, or nil.
func AsRejection(err error) *Rejection {
	if r, ok := errors.AsType[*Rejection](err); ok {
		return r
	}
	return nil
}
