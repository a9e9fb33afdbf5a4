package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/search/strategies"
	"tune/search/tasks"
	"tune/space"
)

// Progress says how far the work on several tasks is.
type Progress struct {
	Step    string // what is done: "searching", "measuring", "writing" and the like
	Text    string // what it is done to
	Done    int
	Of      int
	Elapsed time.Duration // over all sittings
	Left    time.Duration // that the step may take yet, where a budget says so; otherwise 0
}

// Sliced is one of several searches that share a budget: it gets its time in slices, by package tasks. Dir and Kernel must be set.
type Sliced struct {
	Dir    string // of its run
	Kernel kernels.Kernel
	State  tasks.Task // how long its slices were and what they found; the caller sets the weight
	Spent  float64    // seconds that its run has taken
	Best   string     // the key of its best point; "" while there is none
}

// Slice says how a slice is carried out.
type Slice struct {
	Version string        // of tune
	Budget  search.Budget // of the whole run: of this slice and all slices before it
	Jobs    int           // candidates evaluated at once
	// The fields below matter only for the first slice, which creates the run.
	Seed    uint64
	Machine results.Machine
	Began   time.Time
	Open    func() (*kernels.Opened, error)
	Pinned  map[string]string              // see NewRun
	First   func(kernels.Problem) []string // the keys of the points that it evaluates first
}

// Read reads what earlier sittings found. A run that has not begun has found nothing, which is no error.
func (s *Sliced) Read() error {
	run, err := results.Read(s.Dir)
	if results.NotBegun(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.learn(run)
}

// Found reports whether the run has had a slice.
func (s *Sliced) Found() bool { return len(s.State.Slices) > 0 }

// Evaluations returns how many evaluations the run has; 0 where it cannot be read.
func (s *Sliced) Evaluations() int {
	run, err := results.Read(s.Dir)
	if err != nil {
		return 0
	}
	return run.Outcomes
}

// learn takes over what a run has found since the last slice.
func (s *Sliced) learn(run *results.Run) error {
	summary, err := results.Summarise(run)
	if err != nil {
		return err
	}
	cost := math.Inf(1)
	if summary.Best != nil {
		cost, s.Best = summary.Best.Outcome.Cost, summary.Best.Key
	}
	s.add(run.Elapsed, cost)
	return nil
}

// add notes a slice that ended when the run had taken spent seconds and its best cost was best; +Inf for none.
func (s *Sliced) add(spent, best float64) {
	s.State.Slices = append(s.State.Slices, tasks.Slice{Spent: max(spent-s.Spent, 1e-3), Best: best})
	s.Spent = spent
}

// Search begins the run, or continues it, until its budget is spent.
func (s *Sliced) Search(ctx context.Context, o Slice) error {
	one, err := s.session(ctx, o)
	if err != nil {
		return err
	}
	report, err := one.Carry(ctx, Work{Budget: o.Budget, Jobs: o.Jobs, Began: time.Now(), SearchOnly: true})
	if _, slow := errors.AsType[*kernels.SlowBaselineError](err); slow {
		s.add(o.Budget.Wall.Seconds(), math.Inf(1)) // a budget counts from the beginning, so the next slice is longer by as much
		return nil
	}
	if err != nil {
		return err
	}
	s.State.Done = report.Result.Stop == search.SpaceExhausted
	run, err := results.Read(s.Dir)
	if err != nil {
		return err
	}
	return s.learn(run)
}

// session opens the run, or creates it with the first slice.
func (s *Sliced) session(ctx context.Context, o Slice) (*Session, error) {
	run, err := results.Open(s.Dir)
	switch {
	case err == nil:
		settings := run.Settings
		one, err := Open(o.Version, kernels.Table{s.Kernel}, &settings, s.Dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.Dir, err), run.Close())
		}
		one.Continue(run)
		return one, nil
	case !results.NotBegun(err):
		return nil, err
	}
	opened, err := o.Open()
	if err != nil {
		return nil, err
	}
	info := s.Kernel.Info()
	entry, err := strategies.Parse(cmp.Or(info.Strategy, strategies.Default))
	if err != nil {
		return nil, err
	}
	settings := newSettings(o.Version, info, opened.Shape, entry, o.Seed, o.Budget)
	if err := pin(opened, &settings, o.Pinned); err != nil {
		return nil, err
	}
	settings.Jobs, settings.Created, settings.Machine, settings.First = o.Jobs, o.Began, o.Machine, o.First(opened.Problem)
	one, err := New(o.Version, opened, entry, &settings, func(kernels.Problem) ([]space.Source, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	return one, one.Create(ctx, s.Dir)
}
