package session

import "fmt"

// RunError says that the run in a directory cannot be continued: it is no run, it is in use, or it is of another kernel, version or
// strategy. Its text names the directory.
type RunError struct{ Err error }

func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RunError) Unwrap() error { return e.Err }

// StrategyError says that a run has another strategy than the one that is named to continue it.
type StrategyError struct{ Err error }

func (e *StrategyError) Error() string { return e.Err.Error() }

// Unwrap returns what differs.
func (e *StrategyError) Unwrap() error { return e.Err }

// FirstError says that one of the points that a run is to evaluate first is no point of the kernel's space.
type FirstError struct {
	Key string
	Err error
}

func (e *FirstError) Error() string { return fmt.Sprintf("the point %q: %v", e.Key, e.Err) }

// Unwrap returns what is wrong with the point.
func (e *FirstError) Unwrap() error { return e.Err }

// PinError says that a run cannot have the values that it is to keep parameters at.
type PinError struct{ Err error }

func (e *PinError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with them.
func (e *PinError) Unwrap() error { return e.Err }

// GoalsError says that a run cannot have the objectives that it was asked for.
type GoalsError struct{ Err error }

func (e *GoalsError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *GoalsError) Unwrap() error { return e.Err }

// MetricsError says that a run cannot have the metrics that it was asked for.
type MetricsError struct{ Err error }

func (e *MetricsError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *MetricsError) Unwrap() error { return e.Err }
