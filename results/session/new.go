package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/results/earlier"
	"tune/search"
	"tune/search/strategies"
	"tune/space"
)

// NewRun says what a new run is of, and how its first sitting is carried out. Version, Kernel and Dir must be set.
type NewRun struct {
	Version  string // of tune
	Kernel   kernels.Kernel
	Shape    kernels.Shape
	Strategy string // as strategies.Parse reads it; "" means that of the objectives and the kernel
	// Own is a strategy of the caller's, used instead; nil for none.
	Own  *strategies.Strategy
	Seed uint64
	// Objectives are what the run looks for, as space.ParseGoals reads it; "" means the least cost.
	Objectives string
	Metrics    []string // names of space.Measured, measured of each candidate
	// Pinned are values that parameters have in all points of the run, as in keys; nil for none.
	Pinned map[string]string
	First  []string // keys of points that are evaluated before all others
	// From are earlier measurements for the strategy to start from; FromAny accepts those of other kernels.
	From    []*earlier.Earlier
	FromAny bool
	For     string // the worker where Kernel builds, checks and measures; "" for this process
	Dir     string // the run directory, which must not exist or be empty
	Work
}

// entry returns the strategy of the run.
func (r NewRun) entry() (strategies.Strategy, error) {
	if r.Own != nil {
		return *r.Own, nil
	}
	return strategies.Parse(cmp.Or(r.Strategy, strategies.For(r.Objectives, r.Kernel.Info().Strategy)))
}

// newSettings returns those settings of a new run that follow from its kernel, strategy, seed and budget. The caller sets those that it was
// asked for, and Session.Create those that the kernel decides.
func newSettings(version string, info kernels.Info, shape kernels.Shape, entry strategies.Strategy, seed uint64, budget search.Budget) results.Settings {
	return results.Settings{
		ToolVersion: version, Kernel: info.Name, KernelVersion: info.Version, Shape: shape.String(), Unit: info.Unit,
		Strategy: entry.Name, StrategyConfig: entry.Config(), StrategyVersion: entry.Version, Seed: seed, CheckSeed: kernels.CheckSeed(seed),
		Budget:   results.Budget{WallSeconds: budget.Wall.Seconds(), Evaluations: budget.Evaluations, Target: budget.Target},
		Measured: !info.Exact, Function: info.Function,
	}
}

// pin leaves out the points of a new run that have other values than the given ones. The error is a *PinError.
func pin(opened *kernels.Opened, settings *results.Settings, values map[string]string) error {
	if err := opened.Pin(values); err != nil {
		return &PinError{err}
	}
	settings.Pinned = values
	return nil
}

// Run carries out the first sitting of a new run. What is wrong with a field is a *PinError, *FirstError, *GoalsError, *MetricsError,
// *kernels.ShapeError, *results.DirError or *earlier.OtherKernelError.
func Run(ctx context.Context, r NewRun) (*Report, error) {
	if r.Began.IsZero() {
		r.Began = time.Now()
	}
	entry, err := r.entry()
	if err != nil {
		return nil, err
	}
	info := r.Kernel.Info()
	settings := newSettings(r.Version, info, r.Shape, entry, r.Seed, r.Budget)
	settings.Jobs, settings.Created, settings.Machine, settings.Objectives = r.Jobs, r.Began, r.Machine.OrThis(), space.Directed(r.Objectives, info.Maximised)
	settings.Metrics, settings.For, settings.Program = r.Metrics, r.For, kernels.OfProgram(r.Kernel)
	opened, err := kernels.Open(r.Kernel, r.Shape)
	if err != nil {
		return nil, err
	}
	if err := pin(opened, &settings, r.Pinned); err != nil {
		return nil, err
	}
	if settings.First, err = First(opened.Problem, r.First); err != nil {
		return nil, err
	}
	s, err := New(r.Version, opened, entry, &settings, func(problem kernels.Problem) (sources []space.Source, err error) {
		for _, e := range r.From {
			other := e.Fits(info.Name, settings.Program, problem)
			if other != nil && !r.FromAny {
				return nil, other
			}
			source, from := e.Carry(problem.Space())
			from.Other = other != nil
			sources, settings.From = append(sources, source), append(settings.From, from)
		}
		return sources, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.Create(ctx, r.Dir); err != nil {
		return nil, err
	}
	return s.Carry(ctx, r.Work)
}

// Resume carries out a further sitting of the run in a directory, with what is left of its budget. strategy, as in NewRun, must agree with the
// run's in its name and in each constant that it sets; "" skips this check. Zero values of w keep the run's own. own are strategies of the
// caller's. Where the run cannot be continued, the error is a *RunError, with a *StrategyError in it where strategy does not agree.
func Resume(ctx context.Context, version string, table kernels.Table, dir, strategy string, w Work, own ...strategies.Strategy) (*Report, error) {
	if w.Began.IsZero() {
		w.Began = time.Now()
	}
	run, err := results.Open(dir)
	if err != nil {
		return nil, &RunError{err}
	}
	settings := run.Settings
	s, err := Open(version, table, &settings, dir, own...)
	if err == nil && strategy != "" {
		if other := s.Strategy.Agrees(strategy); other != nil {
			err = &StrategyError{other}
		}
	}
	if err != nil {
		return nil, &RunError{errors.Join(fmt.Errorf("%s: %w", dir, err), run.Close())}
	}
	s.Continue(run)
	if w.Budget.Wall == 0 {
		w.Budget.Wall = space.Duration(settings.Budget.WallSeconds)
	}
	w.Budget.Evaluations = cmp.Or(w.Budget.Evaluations, settings.Budget.Evaluations)
	w.Budget.Target = cmp.Or(w.Budget.Target, settings.Budget.Target)
	w.Jobs = cmp.Or(w.Jobs, settings.Jobs)
	return s.Carry(ctx, w)
}
