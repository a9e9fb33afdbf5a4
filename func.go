package tune

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tune/kernels"
	"tune/kernels/gofunc"
	"tune/results"
	"tune/results/session"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// Function says what Func tunes, and how. Name, Parameters and Make must be set.
type Function struct {
	Name       string            // letters, digits, - _ and .
	Parameters []space.Parameter // what may vary; the first value of each, or its default, makes the baseline
	// Constraints are expressions that every point satisfies, such as "rows * columns <= 4096".
	Constraints []string

	// Make returns the function that is timed, for a point. What Make does itself is not timed.
	Make func(p space.Point) func()
	// Check returns what is wrong with the results of the last call. A point that is wrong never wins. nil checks nothing.
	Check func() error
	// Inputs fills the inputs by a seed, and clears the outputs, so that a point which does nothing is wrong. It should write to the
	// same memory each time. It is called before each check, and then Make; before a point scores, also between calls, to find out whether
	// it keeps results, or leaves out work where its outputs hold them already. nil means that the inputs are always the same, and that
	// nothing tells such a point from a fast one.
	Inputs func(seed uint64)
	// Reset puts the inputs back before each call, for a function that changes them. It is not timed, but each call is then timed
	// alone, which is exact to about 0.1 µs. nil resets nothing.
	Reset func()

	Budget      time.Duration // wall time, the final measurement included; 0 means 30 s, or no limit where Evaluations has one
	Evaluations int           // the most points that are tried; 0 means no limit
	Strategy    string        // as in Options
	Seed        uint64        // of the search and of inputs
	// Dir is a directory that keeps the run. Where it holds a run of this function that was stopped, Func goes on with it; Budget
	// and Evaluations then count from its beginning. "" keeps nothing.
	Dir string
	// Version says which version of the function the measurements in Dir are of; "" means 1. Change it when the function changes.
	Version string
	// Observe is called with every outcome; it may be nil.
	Observe func(search.Event)
}

// defaultFuncBudget is the budget of Func where none is given.
const defaultFuncBudget = 30 * time.Second

// FuncResult is what Func has found.
type FuncResult struct {
	Point      space.Point // the best point; the baseline, where nothing is proven to be faster
	NS         float64     // nanoseconds a call of it
	BaselineNS float64     // nanoseconds a call of the baseline, measured in turns with the point
	Ratio      float64     // BaselineNS / NS
	// Low and High are the 98 % interval of Ratio. They are both 0 where there were too few pairs of measurements, and where Point
	// is the baseline.
	Low, High float64
	Verdict   space.Verdict
	Report    *Report // all that is known of the run
}

// String describes the result in a line.
func (r *FuncResult) String() string {
	unit := space.Unit("ns")
	text := fmt.Sprintf("%s: %s", r.Point.Key(), unit.Words(r.NS))
	if r.Point.Key() == r.Report.Schedule.Baseline.Key {
		return text + ", the baseline itself: nothing is proven to be faster"
	}
	text += fmt.Sprintf(", %.2f× as fast as the baseline (%s)", r.Ratio, unit.Words(r.BaselineNS))
	if r.High > 0 {
		text += fmt.Sprintf(", 98 %% interval %.3f to %.3f", r.Low, r.High)
	}
	if r.Verdict == space.Unverified {
		text += ", unverified: the machine was busy, or the budget too short"
	}
	switch r.Report.Checking {
	case kernels.NotChecked:
		text += ", not checked: field Check is not set"
	case kernels.FixedInput:
		text += ", checked on one fixed input: field Inputs is not set"
	}
	return text
}

// Kernel returns the function as a kernel. Verify, Measure and Replay take it in their table, for the run that Dir keeps.
func (f Function) Kernel() (kernels.Kernel, error) {
	s, err := gofunc.Space(f.Name, f.Parameters, f.Constraints)
	if err != nil {
		return nil, err
	}
	return f.kernel(s)
}

func (f Function) kernel(s *space.Space) (kernels.Kernel, error) {
	return gofunc.New(gofunc.Function{Name: f.Name, Version: f.Version, Space: s, Make: f.Make, Inputs: f.Inputs, Reset: f.Reset, Check: f.Check})
}

// checkSearch reports what is wrong with the fields of the search.
func (f Function) checkSearch() error {
	switch _, err := strategies.Parse(cmp.Or(f.Strategy, strategies.Default)); {
	case f.Budget < 0:
		return fmt.Errorf("field Budget is %v: want more than nothing, or 0 for %v, or for no limit where Evaluations has one", f.Budget, defaultFuncBudget)
	case f.Evaluations < 0:
		return fmt.Errorf("field Evaluations is %d: want 1 or more, or 0 for no limit", f.Evaluations)
	case err != nil:
		return fmt.Errorf("field Strategy: %w", err)
	}
	return nil
}

// Func finds the fastest right point of a Go function, which it calls in this process: one call at a time, for at least some
// milliseconds a sample. The best points and the baseline are then measured in turns, and the winner is confirmed. A point that
// panics, ends its goroutine (as the FailNow of a test does), or is wrong does not end the run; see package gofunc for what nothing
// can protect from. When ctx is cancelled, Func returns what was found, with Report.Result.Stop saying so.
func Func(ctx context.Context, f Function) (*FuncResult, error) {
	began := time.Now()
	s, err := gofunc.Space(f.Name, f.Parameters, f.Constraints)
	if err != nil {
		return nil, fmt.Errorf("tune.Func: %w", err)
	}
	k, err := f.kernel(s)
	if err = cmp.Or(err, f.checkSearch()); err != nil {
		return nil, fmt.Errorf("tune.Func: %w", err)
	}
	dir := f.Dir
	if dir == "" {
		temp, err := os.MkdirTemp("", "tune-func-")
		if err != nil {
			return nil, fmt.Errorf("tune.Func: field Dir is not set, and there is no temporary folder: set it, or TMPDIR: %w", err)
		}
		defer os.RemoveAll(temp)
		dir = filepath.Join(temp, "run")
	}
	budget := search.Budget{Wall: f.Budget, Evaluations: f.Evaluations}
	if budget.Wall == 0 && budget.Evaluations == 0 {
		budget.Wall = defaultFuncBudget
	}
	report, err := runOrResume(ctx, k, dir, f, budget, began)
	switch {
	case is[*session.StrategyError](err):
		return nil, fmt.Errorf("tune.Func: field Strategy: %w", err)
	case is[*results.DirError](err) || is[*RunError](err):
		return nil, fmt.Errorf("tune.Func: field Dir: %w", err)
	case err != nil && f.Dir != "":
		return nil, fmt.Errorf("tune.Func: in %s: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("tune.Func: %w", err)
	case report.Schedule == nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case report.Schedule == nil:
		return nil, fmt.Errorf("tune.Func: no point was measured: field Budget is %v: give more, such as 30 * time.Second", budget.Wall)
	}
	return funcResult(s, report)
}

// runOrResume begins a run in a directory, or goes on with the one that it holds.
func runOrResume(ctx context.Context, k kernels.Kernel, dir string, f Function, budget search.Budget, began time.Time) (*Report, error) {
	if _, err := os.Stat(filepath.Join(dir, results.SettingsName)); err == nil {
		return session.Resume(ctx, Version(), kernels.Table{k}, dir, f.Strategy, session.Work{Budget: budget, Jobs: 1, Began: began, Observe: f.Observe})
	}
	return Options{Kernel: k, Strategy: f.Strategy, Seed: f.Seed, Budget: budget, Jobs: 1, Dir: dir, Began: began, Observe: f.Observe}.run(ctx)
}

func funcResult(s *space.Space, report *Report) (*FuncResult, error) {
	best := report.Schedule
	point, err := s.Parse(best.Key)
	if err != nil {
		return nil, fmt.Errorf("tune.Func: %w", err)
	}
	r := &FuncResult{Point: point, NS: best.Cost, BaselineNS: best.Baseline.Cost, Ratio: best.Ratio, Verdict: best.Verdict, Report: report}
	if i := best.RatioInterval; i != nil {
		r.Low, r.High = i[0], i[1]
	}
	return r, nil
}
