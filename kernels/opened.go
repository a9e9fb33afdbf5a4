package kernels

import (
	"context"
	"fmt"
	"io"
	"time"

	"tune/space"
)

// Opened is a kernel at a shape, with what is needed to build, check and score candidates.
type Opened struct {
	Info    Info
	Shape   Shape
	Problem Problem
	// Checking is called before each check of Check, Confirm and Rebuild with its number, from 1, and how many there are. It may be nil.
	Checking func(check, of int)
	// Metrics is as in Evaluator, for the baseline.
	Metrics []string
}

// Open makes the problem of a kernel at a shape.
func Open(k Kernel, shape Shape) (*Opened, error) {
	if err := shape.of(k.Info()); err != nil {
		return nil, err
	}
	problem, err := k.Problem(shape)
	if err != nil {
		return nil, err
	}
	return &Opened{Info: k.Info(), Shape: shape, Problem: problem}, nil
}

// Pin leaves out the points that have other values than the given ones, as [Pin] says.
func (o *Opened) Pin(values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	pinned, err := Pin(o.Problem, values)
	if err != nil {
		return err
	}
	o.Problem = pinned
	return nil
}

// OpenText is Open for the text form of a shape.
func OpenText(k Kernel, text string) (*Opened, error) {
	shape, err := ParseShape(k.Info().Shape, text)
	if err != nil {
		return nil, err
	}
	return Open(k, shape)
}

// Build builds a point and checks it on the inputs of every seed. For a candidate at fault the error's chain has a *Rejection.
func (o *Opened) Build(ctx context.Context, p space.Point, seeds []uint64) (Candidate, error) {
	var c Candidate
	err := guarded(func() (err error) {
		c, err = o.Problem.Build(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, Verify(ctx, c, seeds)
}

// Rebuild is Build for a point with a known cost, in Info.Unit, and returns the candidate's score too. Where costs are exact it must
// be the same cost.
func (o *Opened) Rebuild(ctx context.Context, p space.Point, cost float64, seeds []uint64) (Candidate, Score, error) {
	c, err := o.Build(ctx, p, nil)
	if err != nil {
		return nil, Score{}, err
	}
	score, err := o.Confirm(ctx, c, cost, seeds)
	return c, score, err
}

// Confirm checks a candidate on the inputs of every seed, and returns its score. Where costs are exact that must be the given
// cost, in Info.Unit.
func (o *Opened) Confirm(ctx context.Context, c Candidate, cost float64, seeds []uint64) (score Score, err error) {
	if err := o.Check(ctx, c, seeds); err != nil {
		return Score{}, err
	}
	score, err = o.Score(ctx, c)
	if err == nil && o.Info.Exact && score.Cost != cost {
		err = Reject(space.WrongAnswer, "it costs %v %s, not %v", score.Cost, o.Info.Unit, cost)
	}
	return score, err
}

// Check is Verify, except that it calls Checking before each check.
func (o *Opened) Check(ctx context.Context, c Candidate, seeds []uint64) error {
	if err := Verify(ctx, c, nil); err != nil {
		return err
	}
	for i := range seeds {
		if o.Checking != nil {
			o.Checking(i+1, len(seeds))
		}
		if err := Verify(ctx, c, seeds[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Score returns the score of a candidate that has passed a check. A panic is the candidate's fault.
func (o *Opened) Score(ctx context.Context, c Candidate) (score Score, err error) {
	err = guarded(func() (err error) {
		score, err = c.Score(ctx, 0)
		return err
	})
	return score, err
}

// Load loads a saved program, where the problem's traits allow it. A panic of the loader is the program's fault.
func (o *Opened) Load(r io.Reader) (c Candidate, err error) {
	err = guarded(func() (err error) {
		c, err = o.Problem.Traits().Load(r)
		return err
	})
	return c, err
}

// Compare returns the function that measures candidates side by side; nil where costs are exact.
func (o *Opened) Compare() CompareFunc {
	if o.Info.Exact {
		return nil
	}
	return o.Problem.Traits().Compare
}

// Serial returns a function that reports whether an outcome is of a point with one thread; nil where the kernel does not tell
// threads.
func (o *Opened) Serial() func(e space.Entry) bool {
	threads := o.Problem.Traits().Threads
	if threads == nil {
		return nil
	}
	return func(e space.Entry) bool {
		if n, ok := e.Outcome.Metric(space.MetricThreads); ok {
			return n == 1
		}
		// Scores of earlier versions do not have this metric.
		point, err := o.Problem.Space().Parse(e.Key)
		if err != nil {
			return false
		}
		n := 0
		// A point whose code cannot be generated is no candidate.
		err = guarded(func() (err error) {
			n, err = threads(point)
			return err
		})
		return err == nil && n == 1
	}
}

// Baseline is the point that others are compared with, and its outcome.
type Baseline struct {
	Preset  Preset
	Outcome space.Outcome // always OK
}

// BaselineError says that the baseline of a kernel failed, so that there is nothing to compare candidates with.
type BaselineError struct {
	Kernel, Preset string
	Outcome        space.Outcome // never OK
}

// Error names the kernel and says what is wrong.
func (e *BaselineError) Error() string {
	return fmt.Sprintf("%s of kernel %s: %s: %s", BaselineName(e.Preset), e.Kernel, e.Outcome.Status, e.Outcome.Reason)
}

// BaselineName returns the baseline's name for a sentence: with its preset, unless that is called baseline too.
func BaselineName(preset string) string {
	if preset == "baseline" {
		return "the baseline"
	}
	return "baseline " + preset
}

// baselineGrace is how long a baseline may take although its run should end.
const baselineGrace = 500 * time.Millisecond

// Baseline evaluates the point that others are compared with, on the inputs of a seed. A baseline that fails is a *BaselineError.
func (o *Opened) Baseline(ctx context.Context, checkSeed uint64) (Baseline, error) {
	// A fast baseline is completed even where the run is to end, so that there is something to compare with.
	patient, done := lingering(ctx, baselineGrace)
	defer done()
	evaluator := &Evaluator{Problem: o.Problem, CheckSeed: checkSeed, Alone: true, Metrics: o.Metrics} // all costs are compared with its own
	var b Baseline
	evaluate := func() (err error) {
		b.Preset = o.Problem.Presets()[0]
		b.Outcome, err = evaluator.Evaluate(patient, space.Trial{Proposal: space.Proposal{Point: b.Preset.Point}})
		return err
	}
	err := evaluate()
	if settle := o.Problem.Traits().Settle; settle != nil && err == nil && b.Outcome.Status == space.WrongAnswer {
		if err = settle(patient, checkSeed); err == nil {
			err = evaluate()
		}
	}
	if err == nil && b.Outcome.Status == space.Invalid {
		// Other work on the machine makes clocks disagree too, and without a baseline there is no run.
		err = evaluate()
	}
	if err != nil {
		if ctx.Err() != nil && patient.Err() != nil {
			err = context.Cause(ctx)
		}
		return Baseline{}, fmt.Errorf("%s: %w", BaselineName(b.Preset.Name), err)
	}
	if b.Outcome.Status != space.OK {
		return Baseline{}, &BaselineError{Kernel: o.Info.Name, Preset: b.Preset.Name, Outcome: b.Outcome}
	}
	return b, nil
}

// SlowBaselineError says that the budget of a run ended before its baseline was measured.
type SlowBaselineError struct{ Budget time.Duration }

func (e *SlowBaselineError) Error() string {
	return fmt.Sprintf("the budget of %v is over before it is measured: it needs a larger one", e.Budget)
}

// leastPatience is how long a baseline may take, however small the budget is.
const leastPatience = 10 * time.Second

// BaselineWithin is Baseline for a run that began at some moment with a budget. If the baseline takes longer than that, the error is
// a *SlowBaselineError.
func (o *Opened) BaselineWithin(ctx context.Context, checkSeed uint64, began time.Time, budget time.Duration) (Baseline, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, began.Add(max(budget, leastPatience)), &SlowBaselineError{budget})
	defer cancel()
	return o.Baseline(ctx, checkSeed)
}

// lingering returns a context that ends some time after its parent.
func lingering(parent context.Context, grace time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(grace, cancel) })
	return ctx, func() { stop(); cancel() }
}
