package session

import (
	"fmt"
	"slices"

	"tune/kernels"
	"tune/results"
	"tune/space"
)

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

// pin leaves out the points of a new run that have other values than the given ones. The error is a *PinError.
func pin(opened *kernels.Opened, settings *results.Settings, values map[string]string) error {
	if err := opened.Pin(values); err != nil {
		return &PinError{err}
	}
	settings.Pinned = values
	return nil
}

// First returns the keys of the points that a new run evaluates before all others: those given, and then those of the kernel's own file.
// Parameters that a given key leaves out have their defaults. The error is a *FirstError.
func First(problem kernels.Problem, given []string) ([]string, error) {
	var points []space.Point
	for _, key := range given {
		p, err := problem.Space().ParsePartial(key)
		if err != nil {
			return nil, &FirstError{key, err}
		}
		points = append(points, p)
	}
	var keys []string
	for _, p := range append(points, kernels.Firsts(problem)...) {
		if key := p.Key(); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
