package tune

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/results/session"
	"tune/search"
)

// OptionError says which field of Options or Changes is at fault.
type OptionError struct {
	Field string // such as Options.Shape
	Err   error
}

func (e *OptionError) Error() string {
	// The field says already that it is a shape.
	return fmt.Sprintf("tune: %s: %s", e.Field, strings.TrimPrefix(e.Err.Error(), "shape: "))
}

// Unwrap returns what is wrong with the field.
func (e *OptionError) Unwrap() error { return e.Err }

// ofField names the field of Options that an error is about, where it is about one.
func ofField(err error) error {
	for _, of := range []struct {
		field string
		fault bool
	}{
		{"Options.Pinned", is[*session.PinError](err)}, {"Options.First", is[*FirstError](err)}, {"Options.From", is[*OtherKernelError](err)}, {"Options.Objectives", is[*session.GoalsError](err)},
		{"Options.Metrics", is[*session.MetricsError](err)}, {"Options.Dir", is[*results.DirError](err)}, {"Options.Shape", is[*kernels.ShapeError](err)},
	} {
		if of.fault {
			return &OptionError{of.field, err}
		}
	}
	return err
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// limits checks the limits of a run. of is the type that has them: Options or Changes.
func limits(of string, budget search.Budget, jobs int, final time.Duration) error {
	if err := (search.Settings{Budget: budget, Jobs: jobs}).Validate(); err != nil {
		return errors.New("tune: " + of + "." + strings.TrimPrefix(err.Error(), "search: Settings."))
	}
	if final < 0 {
		return fmt.Errorf("tune: %s.Final is %v: want more than nothing, or 0 to let the budget decide", of, final)
	}
	return nil
}
