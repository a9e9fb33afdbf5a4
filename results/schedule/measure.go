package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tune/kernels"
	"tune/kernels/native/timing"
	"tune/results"
	"tune/space"
)

// MeasureOptions say how Measure works.
type MeasureOptions struct {
	// Limit is roughly how long the measurement takes; 0 means a minute.
	Limit time.Duration
	// Wait is how long to wait at most for the machine to become idle; 0 does not wait.
	Wait time.Duration
	// Machine describes the machine that measures, where that is the one of the worker that the run is tuned for, whose kernel the table then
	// has; nil means this machine.
	Machine *results.Machine
	// Waiting is called now and then during the wait, with the reason and the time that is left. It may be nil.
	Waiting func(why string, left time.Duration)
	// Measuring is called before each pair of the measurement; it may be nil.
	Measuring func(kernels.ContestProgress)
}

// measureLimit is how long a measurement takes by default.
const measureLimit = time.Minute

// ErrExact says that the costs of a kernel are exact, so that there is nothing to measure.
var ErrExact = errors.New("the costs are exact: there is nothing to measure")

// BusyError says that the machine stayed busy for as long as the caller was willing to wait.
type BusyError struct {
	Waited time.Duration
	Why    string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the machine was not quiet within %v (%s): nothing was measured", e.Waited, e.Why)
}

// UnverifiedError says that a new measurement proves less than the one that the schedule already has.
type UnverifiedError struct{ Verdict space.Verdict }

func (e *UnverifiedError) Error() string {
	return fmt.Sprintf("the new measurement could not be verified: the schedule keeps the earlier one, whose verdict is %q", e.Verdict)
}

// Measured is the result of measuring a run again.
type Measured struct {
	Made
	Settings results.Settings
	Told     int           // evaluations of the run
	Elapsed  time.Duration // of the run
	// Baseline is the schedule's; without a schedule, it has the cost that the search measured.
	Baseline results.Baseline
	// Checking says how much the checks of this kernel's candidates prove.
	Checking kernels.Checking
}

// Measure repeats the final measurement of a recorded run, without a search, and replaces the run's schedule with the result.
// Nothing in the run directory changes until everything is complete. With an *UnverifiedError the earlier schedule stays.
func Measure(ctx context.Context, table kernels.Table, dir, toolVersion string, o MeasureOptions) (measured *Measured, err error) {
	// The lock of the run keeps a search from writing its own schedule at the same time.
	run, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	k, err := OpenRun(table, &run.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if k.Compare() == nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Info.Name, ErrExact)
	}
	history := run.LastEnd().Trim(run)
	ranking, err := results.Ranking(history, nil, Kept)
	if err != nil {
		return nil, err
	}
	if len(ranking) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoValid)
	}
	if err := awaitQuiet(ctx, o.Wait, o.Waiting); err != nil {
		return nil, err
	}
	measured = &Measured{Settings: run.Settings, Told: run.Outcomes, Elapsed: space.Duration(run.Elapsed), Checking: k.Problem.Traits().Checking}
	old, oldErr := results.ReadResult(dir, run.Settings, &ranking[0])
	if oldErr == nil {
		measured.Elapsed = max(measured.Elapsed, space.Duration(old.ElapsedSeconds))
		measured.Baseline, err = earlierBaseline(ctx, k, old, run.Settings.CheckSeed)
	} else {
		measured.Baseline, err = newBaseline(ctx, k, run.Settings.CheckSeed)
	}
	if err != nil {
		return nil, err
	}
	staging, err := os.MkdirTemp(dir, ".measure-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(staging)
	maker := Maker{
		Kernel: k, Settings: run.Settings, ToolVersion: toolVersion, Run: dir, Dir: staging, Baseline: measured.Baseline, Told: run.Outcomes,
		Elapsed: func() time.Duration { return measured.Elapsed }, Limit: cmp.Or(max(o.Limit, 0), measureLimit), Progress: o.Measuring,
		Machine: o.Machine, By: run.Settings.For,
	}
	if maker.Serial, err = BestSerial(k, history); err != nil {
		return nil, err
	}
	if maker.Batches, err = batchesOf(run); err != nil {
		return nil, err
	}
	if measured.Made, err = maker.Make(ctx, ranking); err != nil {
		return nil, err
	}
	if measured.Schedule == nil {
		return measured, fmt.Errorf("%s: %w", dir, ErrNoValid)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if oldErr == nil && measured.Schedule.Verdict == space.Unverified && old.Verdict != space.Unverified && old.Verdict != "" {
		measured.Schedule, measured.Baseline = &old, old.Baseline
		return measured, &UnverifiedError{old.Verdict}
	}
	measured.Baseline = measured.Schedule.Baseline
	if err := results.MoveSchedule(staging, dir); err != nil {
		return measured, err
	}
	return measured, results.MoveFinal(staging, dir)
}

// earlierBaseline returns the baseline of an earlier schedule with the cost that the search measured, which is recorded nowhere else.
func earlierBaseline(ctx context.Context, k *kernels.Opened, old results.Schedule, checkSeed uint64) (results.Baseline, error) {
	if settle := k.Problem.Traits().Settle; settle != nil {
		if err := settle(ctx, checkSeed); err != nil {
			return results.Baseline{}, err
		}
	}
	baseline := old.Baseline
	if old.Search != nil {
		baseline.Cost = old.Search.Baseline
	}
	return baseline, nil
}

// newBaseline evaluates the baseline of a run again.
func newBaseline(ctx context.Context, k *kernels.Opened, checkSeed uint64) (results.Baseline, error) {
	baseline, err := k.Baseline(ctx, checkSeed)
	if err != nil {
		return results.Baseline{}, err
	}
	return AsBaseline(baseline), nil
}

// A machine counts as quiet after this many looks in a row, at this distance.
const (
	quietLooks = 5
	quietApart = 200 * time.Millisecond
)

// awaitQuiet waits until the machine is idle, for the given time at most; 0 does not wait. waiting is as in MeasureOptions. Where the machine
// stays busy, the error is a *BusyError.
func awaitQuiet(ctx context.Context, wait time.Duration, waiting func(why string, left time.Duration)) error {
	if wait <= 0 {
		return nil
	}
	deadline := time.Now().Add(wait)
	why, quiet, told := "", 0, time.Time{}
	for {
		before := timing.ReadLoad()
		if !before.Readable {
			return errors.New("this system does not tell how busy it is: measure without waiting for it to be quiet (--wait 0)")
		}
		if timing.Idle(ctx) {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == quietLooks {
			return nil
		}
		select {
		case <-time.After(quietApart):
		case <-ctx.Done():
			return ctx.Err()
		}
		busy, steal := timing.ReadLoad().Shares(before)
		if quiet == 0 {
			why = fmt.Sprintf("others keep %.0f %% of its cores busy, load %.1f", 100*busy, before.OneMin)
			if steal > 0 {
				why += fmt.Sprintf(", its host takes %.0f %%", 100*steal)
			}
		}
		now := time.Now()
		if now.After(deadline) {
			return &BusyError{wait, why}
		}
		if waiting != nil && quiet == 0 && now.Sub(told) >= time.Second {
			told = now
			waiting(why, deadline.Sub(now))
		}
	}
}
