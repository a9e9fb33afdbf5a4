package space

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Status says how the evaluation of a point ended. The zero value means that no evaluation has
// ended yet; every other value but OK says why the point has no score.
type Status uint8

// The statuses of an outcome.
const (
	StatusUnset   Status = iota
	OK                   // built, right, and scored
	Invalid              // the generator cannot build this point; the reason says why
	CompileFailed        // the generated code does not compile
	WrongAnswer          // it ran and disagreed with the reference
	Timeout              // it did not end within its limit
	Crashed              // it died, or faulted
)

var statusNames = [...]string{"unset", "ok", "invalid", "compile failed", "wrong answer", "timeout", "crashed"}

// Statuses lists every status that an outcome can have, OK first.
func Statuses() []Status {
	return []Status{OK, Invalid, CompileFailed, WrongAnswer, Timeout, Crashed}
}

// String returns the status as it is written in journals and reports.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// ParseStatus is the inverse of String.
func ParseStatus(text string) (Status, error) {
	for i, name := range statusNames {
		if name == text {
			return Status(i), nil
		}
	}
	return StatusUnset, fmt.Errorf("unknown status %q", text)
}

// MarshalText writes the status as text.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status from its text.
func (s *Status) UnmarshalText(text []byte) error {
	v, err := ParseStatus(string(text))
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// Metric is a named number measured beside the cost, for instance the slots used on one engine.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Outcome is the result of one trial.
type Outcome struct {
	Status Status `json:"status"`
	// Cost is the primary score, in the kernel's unit; see Objective. It is meaningful and
	// finite only where Status is OK.
	Cost float64 `json:"cost,omitempty"`
	// Metrics are further numbers, ordered by name.
	Metrics []Metric `json:"metrics,omitempty"`
	// Fidelity is the level that the cost was scored at: 0, the default, is the full and dearest
	// score; 1, 2, … are cheaper approximations of it, in that order.
	Fidelity int `json:"fidelity,omitempty"`
	// Seconds is the wall time that the evaluation took. Where scores are exact it is the only field that depends on the
	// clock, and no strategy may read it.
	Seconds float64 `json:"seconds,omitempty"`
	// Reason says in one line why Status is not OK.
	Reason string `json:"reason,omitempty"`
	// By names the machine that measured the outcome, if it is not the machine of the run. No strategy may read it.
	By string `json:"by,omitempty"`
}

// Fail returns an outcome without a score.
func Fail(status Status, format string, args ...any) Outcome {
	return Outcome{Status: status, Reason: fmt.Sprintf(format, args...)}
}

// Validate reports an outcome that cannot be valid: without a status, with a cost or metric that is not finite, or with metrics
// that have no name or are not sorted by name.
func (o Outcome) Validate() error {
	switch {
	case o.Status == StatusUnset || int(o.Status) >= len(statusNames):
		return errors.New("it has no status")
	case !Finite(o.Cost):
		return fmt.Errorf("its cost is %v", o.Cost)
	case o.Fidelity < 0:
		return fmt.Errorf("its fidelity is %d", o.Fidelity)
	case !Finite(o.Seconds) || o.Seconds < 0:
		return fmt.Errorf("it took %v s", o.Seconds)
	}
	for i, m := range o.Metrics {
		switch {
		case m.Name == "" || !utf8.ValidString(m.Name):
			return fmt.Errorf("%q is not the name of a metric", m.Name)
		case i > 0 && m.Name <= o.Metrics[i-1].Name:
			return fmt.Errorf("its metrics are not ordered by name: %s comes after %s", m.Name, o.Metrics[i-1].Name)
		case !Finite(m.Value):
			return fmt.Errorf("its metric %s is %v", m.Name, m.Value)
		}
	}
	return nil
}

// Finite reports a number that is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Counts reports whether an outcome is right and of full fidelity, so that it may become the result of a search.
func (o Outcome) Counts() bool { return o.Status == OK && o.Fidelity == 0 }

// Proposal is a point that a strategy wants evaluated, and how thoroughly.
type Proposal struct {
	Point Point
	// Fidelity is the level to score at; 0, the default, is the full score.
	Fidelity int
}

// Trial is a proposal with the number it was asked under, counted from 0 over the whole run.
type Trial struct {
	Number int
	Proposal
}

// Progress is all that a strategy may know of the budget. It is read once at each batch barrier and written to the journal, so
// that a replay shows the strategy the same.
type Progress struct {
	// Told is the number of outcomes told so far.
	Told int `json:"told"`
	// Left is the share of the budget that is left, from 1 at the start down to 0. Under a budget
	// counted in evaluations it follows from Told; under wall time it is a reading of the clock.
	Left float64 `json:"left"`
	// Evaluations is how many evaluations the budget still allows; 0 where it sets no such limit.
	Evaluations int `json:"evaluations,omitempty"`
}

// Batch is one round of ask and tell: the trials First … First+Count-1.
type Batch struct {
	Number   int      `json:"batch"`
	First    int      `json:"first"`
	Count    int      `json:"count"`
	Progress Progress `json:"progress"`
}

// Entry is what a journal keeps of one trial that has ended.
type Entry struct {
	Number  int      // the number that the trial was asked under
	Key     string   // the canonical key of its point
	Written *Written `json:"-"` // the same, where a history has it so and perhaps leaves out the key; else nil
	Outcome Outcome  // what became of it
	// Elapsed is the time, in seconds, that the run had spent when the outcome was known, over all
	// its sittings.
	Elapsed float64
}

// PointKey returns the key of its point, also where only the values are there.
func (e *Entry) PointKey() string {
	if e.Written != nil {
		return e.Written.Key()
	}
	return e.Key
}

// Duration converts seconds, the unit of time in journals and settings, to the nearest nanosecond, so that what was written as
// seconds reads back.
func Duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// History is what a run has asked and measured so far. A journal holds the same.
type History struct {
	Batches []Batch       // in order, numbered from 0
	Entries map[int]Entry // by trial number; the last batches may miss some
	// Elapsed is the time in seconds that earlier sittings spent.
	Elapsed float64
}
