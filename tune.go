// Package tune finds the fastest correct version of a kernel, and exports it with what is needed to verify and reproduce it. It
// gives Go programs what cmd/tune gives its users. A kernel (package kernels) provides a space of points (package space). A
// strategy (package search) explores the space. Every candidate is checked before it is scored. A run directory (package results)
// keeps every outcome, and the best point becomes a schedule.
//
//	Func     tunes a plain Go function, and needs nothing of the rest
//	Run      searches in a new run directory, and exports the best schedule
//	Resume   continues a run that was stopped, or gives one a larger budget
//	Replay   proves that a run's strategy asks the recorded points
//	Export   writes a run's schedule, program, trace or outcomes
//	Verify   rebuilds a schedule and checks it on fresh inputs
//	Measure  measures the best points of a run again, and replaces its schedule
//
// Package results/schedule implements Export, Verify and Measure.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/results/earlier"
	"tune/results/schedule"
	"tune/results/session"
	"tune/search"
	"tune/search/strategies"
)

// Options say what to run. Kernel and Dir must be set.
type Options struct {
	Kernel   kernels.Kernel
	Shape    kernels.Shape
	Strategy string // as strategies.Parse reads it, such as auto:lead=100; "" means the kernel's own strategy, or else strategies.Default
	// Own is a strategy of the caller's, to be used instead of Strategy; nil for none. See strategies.Own.
	Own *strategies.Strategy
	// Evaluator evaluates the candidates of the search; nil means kernels.Evaluator. It may send them to other machines, and name
	// in space.Outcome.By the one that measured. The baseline and what is exported do not depend on it: the kernel itself builds,
	// checks and measures these on this machine.
	Evaluator search.Evaluator
	// Machine describes the machine that measures. It is recorded in the run directory; nil means results.ThisMachine. A text of
	// more than 64 KiB is refused.
	Machine *results.Machine
	// For names the worker of that machine where Kernel builds, checks and measures; "" where this process does so.
	For    string
	Seed   uint64
	Budget search.Budget
	// Objectives are what the run looks for, as space.ParseGoals reads it: time,error. "" means the least cost.
	Objectives string
	Metrics    []string // names of space.Measured, measured of each candidate where this machine can: see Start.Unmeasured
	Jobs       int      // candidates evaluated at once; 0 means 1
	Dir        string   // the run directory, which must not exist or be empty
	// From are earlier measurements for the strategy to start from. What the strategy sees of them is kept in the run directory.
	From []*Earlier
	// FromAny accepts measurements of other kernels in From. Without it they are an *OtherKernelError.
	FromAny bool
	Pinned  map[string]string // values that parameters have in all points of the run, as in keys
	// First are points that the search evaluates before all others, each as a key, such as "tile=16 unroll=4". Parameters that a key
	// leaves out have their defaults. Those of the kernel's own file follow. A *FirstError says what is wrong with one.
	First []string
	// Began is when the wall-clock budget started to count; the zero value means now.
	Began time.Time
	// Observe is called with every outcome; see search.Settings. Start is called once, before the first outcome, with the state
	// that the run starts from.
	Observe func(search.Event)
	Start   func(Start)
	// Baseline is called before the baseline is evaluated, which is the first evaluation. It may be nil.
	Baseline func()
	// Measuring is called before each pair of the final measurement against the baseline. It may be nil.
	Measuring func(kernels.ContestProgress)
	// Final is roughly how long that measurement may take; 0 lets the budget decide.
	Final time.Duration
}

// Validate reports options that no run can have.
func (o Options) Validate() error {
	switch {
	case o.Kernel == nil:
		return errors.New("tune: Options.Kernel is not set")
	case o.Dir == "":
		return errors.New("tune: Options.Dir is not set")
	case o.Own != nil && o.Strategy != "":
		return fmt.Errorf("tune: Options.Strategy is %s and Options.Own is %s: set one of them", o.Strategy, o.Own.Name)
	case o.Began.After(time.Now()):
		return fmt.Errorf("tune: Options.Began is %v, which is yet to come: want a time before now, or none", o.Began)
	case slices.Contains(o.From, nil):
		return errors.New("tune: Options.From has a nil: take what ReadEarlier returns")
	}
	if o.Own != nil {
		if err := o.Own.Validate(); err != nil {
			return fmt.Errorf("tune: Options.Own: %w", err)
		}
	}
	if err := o.Machine.Validate(); err != nil {
		return fmt.Errorf("tune: Options.Machine: %w", err)
	}
	if _, err := strategies.Parse(cmp.Or(o.Strategy, strategies.Default)); err != nil {
		return &OptionError{"Options.Strategy", err}
	}
	return limits("Options", o.Budget, o.Jobs, o.Final)
}

// Start is the state that a run starts from.
type Start = session.Start

// Report is the result of a run.
type Report = session.Report

// ScheduleName is the name of the schedule in a run directory.
const ScheduleName = results.ScheduleName

// ExportChecks is the number of fresh inputs that a schedule is checked on before it is exported.
const ExportChecks = kernels.ExportChecks

// Refusal is an incumbent that failed its last check.
type Refusal = schedule.Refusal

// BaselineError says that the baseline of a kernel could not be built, failed its check, or could not be scored.
type BaselineError = kernels.BaselineError

// Earlier holds earlier measurements: see package earlier.
type Earlier = earlier.Earlier

// OtherKernelError says that earlier measurements are of a different kernel than the run.
type OtherKernelError = earlier.OtherKernelError

// ReadEarlier reads a run directory, a schedule, or a file in a format of package exchange.
func ReadEarlier(path string) (*Earlier, error) { return earlier.Read(path) }

// Version is the version of tune, with the revision that it was built from where that is known.
func Version() string {
	const version = "0.1.0"
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, dirty := "", ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				revision = "+" + s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
		if revision != "" {
			return version + revision + dirty
		}
	}
	return version
}

// Run searches, and exports the best schedule into the run directory. When ctx is cancelled, Run stops searching at once and
// still exports, after a short final measurement. A wall-clock budget includes the export. Where a field of o is at fault, the error is an *OptionError.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	report, err := o.run(ctx)
	return report, ofField(err)
}

// run is Run, with errors that name no field of the options.
func (o Options) run(ctx context.Context) (*Report, error) {
	return session.Run(ctx, session.NewRun{
		Version: Version(), Kernel: o.Kernel, Shape: o.Shape, Strategy: o.Strategy, Own: o.Own, Seed: o.Seed,
		Objectives: o.Objectives, Metrics: o.Metrics, Pinned: o.Pinned, First: o.First, From: o.From, FromAny: o.FromAny, For: o.For, Dir: o.Dir,
		Work: session.Work{
			Evaluator: o.Evaluator, Machine: o.Machine, Budget: o.Budget, Jobs: o.Jobs, Began: o.Began, Observe: o.Observe, Start: o.Start,
			Baseline: o.Baseline, Measuring: o.Measuring, Final: o.Final,
		},
	})
}

// FirstError says that one of Options.First is no point of the kernel's space.
type FirstError = session.FirstError

// Changes are what a resumed run may do differently. Zero values keep the run's own.
type Changes struct {
	// Strategy, as in Options, must agree with the run's in its name and in each constant that it sets; "" skips this check.
	Strategy string
	// Own is the caller's strategy that the run was started with; nil where it was one of tune's.
	Own *strategies.Strategy
	// Evaluator and Machine are as in Options.
	Evaluator search.Evaluator
	Machine   *results.Machine
	Budget    search.Budget // each limit that is set replaces the run's own, and counts from the start of the run
	Jobs      int
	Began     time.Time
	Observe   func(search.Event)
	Start     func(Start)
	// Baseline, Measuring and Final are as in Options.
	Baseline  func()
	Measuring func(kernels.ContestProgress)
	Final     time.Duration
}

// RunError says that the run in a directory cannot be continued.
type RunError = session.RunError

// Resume continues the run in a directory with what is left of its budget. Where it cannot, the error is a *RunError or wraps one.
func Resume(ctx context.Context, table kernels.Table, dir string, c Changes) (*Report, error) {
	if err := c.Machine.Validate(); err != nil {
		return nil, fmt.Errorf("tune: Changes.Machine: %w", err)
	}
	if err := limits("Changes", c.Budget, c.Jobs, c.Final); err != nil {
		return nil, err
	}
	var own []strategies.Strategy
	if c.Own != nil {
		own = append(own, *c.Own)
	}
	report, err := session.Resume(ctx, Version(), table, dir, c.Strategy, session.Work{
		Evaluator: c.Evaluator, Machine: c.Machine, Budget: c.Budget, Jobs: c.Jobs, Began: c.Began, Observe: c.Observe, Start: c.Start,
		Baseline: c.Baseline, Measuring: c.Measuring, Final: c.Final,
	}, own...)
	if is[*session.StrategyError](err) {
		err = &OptionError{"Changes.Strategy", err}
	}
	return report, err
}

// SlowBaselineError says that the budget ended before the baseline was measured.
type SlowBaselineError = kernels.SlowBaselineError

// Replay feeds a recorded run to a new instance of its strategy, and proves that the strategy asks for the same points in the
// same order. It returns how many trials it compared.
//
// own are strategies of the caller's; the run may have been made by one of them.
func Replay(table kernels.Table, dir string, own ...strategies.Strategy) (int, error) {
	return session.Replay(Version(), table, dir, nil, own...)
}

// Formats lists the formats that Export can write.
var Formats = schedule.Formats

// ErrNoValid says that a run has no correct candidate to export.
var ErrNoValid = schedule.ErrNoValid

// StaleError says that the schedule of a run is missing or out of date, and that making it again would run candidates.
type StaleError = schedule.StaleError

// Export writes a run in one of Formats. It starts no compiler and no process: where the schedule would have to be made again by
// starting one, the error is a *StaleError, and schedule.Exporter can do it.
//
// Each of observe is told how many outcomes are written, and about how many there are, in formats that list them.
func Export(ctx context.Context, table kernels.Table, dir, format string, w io.Writer, observe ...func(done, total int)) error {
	return schedule.Exporter{Table: table, ToolVersion: Version(), Rows: func(done, total int) {
		for _, tell := range observe {
			tell(done, total)
		}
	}}.Export(ctx, dir, format, w)
}

// Verification is the result of checking a schedule again.
type Verification = schedule.Verification

// FreshSeeds returns n seeds that nobody can predict.
func FreshSeeds(n int) []uint64 { return schedule.FreshSeeds(n) }

// VerifyProgress says how far a verification is.
type VerifyProgress = schedule.VerifyProgress

// Verify rebuilds the schedule in a file from its point, and checks it on inputs from the given seeds. Each of observe is called
// before every check. See package schedule.
func Verify(ctx context.Context, table kernels.Table, path string, seeds []uint64, observe ...func(VerifyProgress)) (*Verification, error) {
	return schedule.Verify(ctx, table, path, seeds, observe...)
}

// MeasureOptions say how Measure works.
type MeasureOptions = schedule.MeasureOptions

// ErrExact says that the costs of a kernel are exact, so that there is nothing to measure.
var ErrExact = schedule.ErrExact

// BusyError says that the machine stayed busy for as long as the caller was willing to wait.
type BusyError = schedule.BusyError

// UnverifiedError says that a new measurement proves less than the one that the schedule already has.
type UnverifiedError = schedule.UnverifiedError

// Measure repeats the final measurement of a recorded run, without a search, and replaces the run's schedule. See package schedule.
func Measure(ctx context.Context, table kernels.Table, dir string, o MeasureOptions) (*Report, error) {
	m, err := schedule.Measure(ctx, table, dir, Version(), o)
	if m == nil {
		return nil, err
	}
	report := &Report{Dir: dir, Settings: m.Settings, Elapsed: m.Elapsed, Baseline: m.Baseline, Schedule: m.Schedule, Refused: m.Refused, Checking: m.Checking}
	report.Result.Told, report.Result.Elapsed = m.Told, m.Elapsed
	return report, err
}

// Side is one of two schedules that are compared; ReadSide reads one.
type Side = schedule.Side

// ReadSide reads a schedule to compare. Its table is the caller's to set.
func ReadSide(path string) (Side, error) { return schedule.ReadSide(path) }

// CompareOptions say how Compare works.
type CompareOptions = schedule.CompareOptions

// CompareProgress says how far a comparison is.
type CompareProgress = schedule.CompareProgress

// Comparing is the phase of a CompareProgress whose steps are pairs.
const Comparing = schedule.Comparing

// Comparison is how two schedules of one kernel compare.
type Comparison = schedule.Comparison

// The parts of a Comparison.
type (
	Compared           = schedule.Compared
	Standing           = schedule.Standing
	ComparedDifference = schedule.Difference
	ComparedParameter  = schedule.Parameter
)

// The standings of a Comparison.
const (
	BFaster     = schedule.BFaster
	BSlower     = schedule.BSlower
	Alike       = schedule.Alike
	Undecided   = schedule.Undecided
	NotCompared = schedule.NotCompared
)

// What is wrong with two schedules that cannot be compared.
type (
	MismatchError = schedule.MismatchError
	SideError     = schedule.SideError
	BadShapeError = schedule.BadShapeError
)

// Compare compares two schedules of one kernel: it builds, checks and measures both, or compares what they say. See package schedule.
func Compare(ctx context.Context, a, b Side, o CompareOptions) (*Comparison, error) {
	return schedule.Compare(ctx, a, b, o)
}
