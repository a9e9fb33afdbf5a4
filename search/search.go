package search

import (
	"context"
	"iter"
	"time"

	"tune/space"
)

// Strategy proposes points and learns from outcomes. It is driven by one goroutine. Its proposals depend only on its space, its
// configuration, its seed, and what it was shown, and not on the clock or the number of workers.
type Strategy interface {
	// Ask returns the next batch: proposals that it never made before. The strategy chooses the size of the batch, independently of
	// the number of workers. If p.Evaluations is positive, the batch has at most that many proposals: the first of those that it would
	// have without this limit. A paced strategy may adapt to the limit instead. An empty batch means that no unseen point is left.
	Ask(p space.Progress) []space.Proposal
	// Tell reports the outcomes of the last batch, in the order asked.
	Tell(trials []space.Trial, outcomes []space.Outcome)
}

// Evaluator builds, checks and scores one trial. It is called by several goroutines at once. A bad candidate is an outcome; an
// error means that the evaluator itself failed, and ends the run. It must return soon after its context is done. An error or a
// failed outcome that it returns then is dropped, because the end of the context may have caused it.
type Evaluator interface {
	Evaluate(context.Context, space.Trial) (space.Outcome, error)
}

// EvaluatorFunc adapts a function to an Evaluator.
type EvaluatorFunc func(context.Context, space.Trial) (space.Outcome, error)

// Evaluate calls f.
func (f EvaluatorFunc) Evaluate(ctx context.Context, t space.Trial) (space.Outcome, error) {
	return f(ctx, t)
}

// Recorder records a run. It is called by several goroutines at once.
type Recorder interface {
	// Batch records that a batch is about to be evaluated.
	Batch(space.Batch) error
	// Record records an outcome as soon as it is known. When Record returns, the outcome is on its way to disk.
	Record(space.Entry) error
	// Sync returns when everything recorded so far is durable. The run calls it before a strategy is told the outcomes of a
	// batch.
	Sync() error
}

// History is what a run has asked and measured in earlier sittings.
type History interface {
	// Rounds yields the batches in order, each with its known outcomes. An error ends it.
	Rounds() iter.Seq2[space.Round, error]
	// Spent is the time, in seconds, that these sittings took.
	Spent() float64
}

// ReadAhead is a History that is read on a goroutine of its own, ahead of the search.
type ReadAhead interface {
	History
	// RoundsBeside is Rounds, and calls beside with each round that it reads, on that goroutine. A round must not change after it is yielded:
	// its entries may be compared later.
	RoundsBeside(beside func()) iter.Seq2[space.Round, error]
}

// Budget says when a run stops: at whichever of its limits is reached first. The zero value sets no limit, so that the run ends
// when its space is exhausted.
type Budget struct {
	Wall        time.Duration // wall time over all sittings of the run; 0 sets no limit
	Evaluations int           // outcomes told, over all sittings; 0 sets no limit
	Target      *float64      // stops at the first right outcome of full fidelity that costs no more; nil for none
}
