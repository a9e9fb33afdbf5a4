package kernels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tune/internal/guard"
	"tune/internal/plain"
	"tune/space"
)

// Evaluator is the pipeline from a point to its outcome: build, check, score. Goroutines may share it.
type Evaluator struct {
	// Problem generates the candidates. It must be set.
	Problem Problem
	// CheckSeed draws the inputs of every check; 0 is a seed like any other.
	CheckSeed uint64
	// Alone gives every candidate processes of its own, where candidates may share one.
	Alone bool
	// Metrics names metrics that are added to those of candidates that can measure; see space.Measured.
	Metrics []string
	// Now is the clock behind Outcome.Seconds; nil means time.Now.
	Now func() time.Time
}

// Evaluate returns the outcome of a trial. Whatever the candidate or its generator does wrong, including a panic, is an outcome.
// An error means that the tuner failed or, if it is ctx.Err(), that ctx ended before the outcome was known.
func (e *Evaluator) Evaluate(ctx context.Context, trial space.Trial) (space.Outcome, error) {
	now := e.Now
	if now == nil {
		now = time.Now
	}
	start, traits := now(), e.Problem.Traits()
	out := space.Outcome{Status: space.OK, Fidelity: trial.Fidelity}
	err := e.evaluate(ctx, traits, trial, &out)
	if err != nil {
		// A candidate that was interrupted may look slow or broken although it is not.
		if ctx.Err() != nil {
			return space.Outcome{}, ctx.Err()
		}
		r := AsRejection(err)
		if r == nil {
			return space.Outcome{}, fmt.Errorf("trial %d, %s: %w", trial.Number, trial.Point.Key(), err)
		}
		out = space.Fail(r.Status, "%s", oneLine(r.Reason))
		out.Fidelity = trial.Fidelity
	}
	out.Seconds = now().Sub(start).Seconds()
	if traits.Seconds != nil {
		out.Seconds = traits.Seconds(trial.Point)
	}
	return out, nil
}

func (e *Evaluator) evaluate(ctx context.Context, traits Traits, trial space.Trial, out *space.Outcome) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return guarded(func() error {
		build := e.Problem.Build
		if at := traits.BuildAt; at != nil && trial.Fidelity > 0 {
			build = func(ctx context.Context, p space.Point) (Candidate, error) { return at(ctx, p, trial.Fidelity) }
		}
		c, err := build(ctx, trial.Point)
		if err != nil {
			return err
		}
		can := c.Abilities()
		if can.Isolate != nil && e.Alone {
			can.Isolate()
		}
		if err := c.Check(ctx, e.CheckSeed); err != nil {
			return err
		}
		score, err := c.Score(ctx, trial.Fidelity)
		if err != nil {
			return err
		}
		out.Cost = score.Cost
		out.Metrics = WithDeviation(score.Metrics, c)
		if can.Measure != nil && len(e.Metrics) > 0 {
			more, err := can.Measure(ctx, e.Metrics)
			if err != nil {
				return err
			}
			out.Metrics = sortedMetrics(slices.Concat(out.Metrics, more))
		}
		return out.Validate()
	})
}

// Verify checks a candidate on the inputs of every seed, as before an export. A candidate that shared processes with others runs
// alone from then on. For a candidate at fault the error's chain has a *Rejection, as in Evaluate.
func Verify(ctx context.Context, c Candidate, seeds []uint64) error {
	if isolate := c.Abilities().Isolate; isolate != nil {
		isolate()
	}
	for _, seed := range seeds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := guarded(func() error { return c.Check(ctx, seed) }); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("inputs of seed %d: %w", seed, err)
		}
	}
	return nil
}

// guarded calls f and turns a panic into a rejection with the message and the place. One candidate must not end a search of
// thousands.
func guarded(f func() error) error {
	err := guard.Call(f)
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		return Reject(space.Crashed, "%v", p)
	}
	return err
}

// oneLine joins the lines of a reason, because it is shown on one line.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return plain.Line(strings.Join(lines, "; "))
}
