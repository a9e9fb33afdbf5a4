// Package search looks for the cheapest point of a space. Every point has to be built, checked and measured, which takes from
// microseconds to minutes; a space may have 10 points or 10^20. A [Strategy] decides what to try next. An [Evaluator] finds out
// what a point costs. This package brings the two together: it evaluates in parallel, keeps to a budget, and makes runs that can
// be stopped at any instant, resumed, and repeated exactly.
//
// # Vocabulary
//
// A strategy asks for a batch of proposals: points, each with the fidelity to score it at. A proposal with its number, counted
// from 0 over the whole run, is a trial. Evaluating a trial gives an outcome: right with a cost, or failed with a status and a
// reason. The strategy is told the outcomes of a batch all at once; the moment between two batches is a barrier. The incumbent is
// the right outcome of full fidelity with the least cost; of equal ones, the one that was asked for first. What a run asked and
// was told is its history. A sitting is the part of a run from a call of [Run] to its return: an interrupted run that is resumed
// has two.
//
// # The loop
//
// [Run] repeats these steps until a budget is spent, the context ends, or the strategy asks for nothing:
//
//  1. Ask. The strategy is shown the progress of the budget, and proposes a batch. Its trials are numbered.
//  2. Answer from the history. Where an earlier sitting recorded this batch, the strategy is shown the progress of
//     that time and has to ask for the recorded points; outcomes that are recorded are not evaluated again. A
//     new batch is recorded.
//  3. Evaluate the other trials in parallel. Outcomes are stored by the number of the trial, so that the order
//     of finishing changes nothing. A panic, a cost that is not a number, and any other outcome that cannot be
//     recorded become an outcome too: crashed.
//  4. Record each outcome with the [Recorder] as soon as it is known.
//  5. Sync. At the barrier the recorder makes all of it durable: a strategy never knows more than the
//     journal.
//  6. Tell the strategy the outcomes, in the order asked.
//
// # Budgets
//
// A [Budget] limits wall time, evaluations, or both, and may set a target. A limit counts over all sittings. A budget of n
// evaluations makes exactly n, by cutting the last batch short. A target ends the run at the first trial, in the order asked,
// that reaches it: all trials before it are evaluated; those after it are cancelled, and do not count even if they ended sooner.
// Wall time ends the run at once: evaluations under way are cancelled, and lost. Replaying the history to the strategy uses up no
// wall time.
//
// The history counts whatever the budget is now. A resumed run may have a larger budget, and continues where the smaller one
// ended; the batch that was cut short stays as short as it was.
//
// A failed outcome that arrives after its context has ended is dropped, because the end of the context may have caused it.
//
// # Determinism
//
// The same strategy, seed, and budget of evaluations or target give the same run, whatever the number of jobs, the order in which
// evaluations end, and the interruptions, as long as outcomes depend on their points alone. Where costs are measured with noise,
// or the budget is wall time, a recorded history is still reproducible: [Replay] feeds it to the strategy, and proves that the
// strategy asks for the same points in the same order.
//
// # What a strategy promises
//
//   - It asks for valid points of its space, and for none twice at the same fidelity.
//   - It asks for at most Progress.Evaluations points. A smaller allowance only cuts the batch short: what is asked
//     is the beginning of what would have been asked with a larger one. Only a strategy that says so (Paced in
//     package strategies) may adapt to what is left.
//   - It stops, with an empty batch, only when it has asked for every point.
//   - It decides on the size of a batch itself. What it asks depends on its space, configuration and seed, on the
//     progress that it was shown and the outcomes that it was told, and on nothing else: no clock, no global source
//     of random numbers, no map order, and not on Outcome.Seconds.
//   - It copes with any outcomes: all failed, all equal, huge, negative.
//
// The suite in package searchtest checks all of this. [Fresh] gives a strategy points that it has not asked for yet,
// and [Take] keeps it to its allowance.
//
// # Adding a strategy
//
//  1. Write a package of its own beside package random, which is the shortest example: a Config with the constants of the strategy, a
//     function Constants that describes those that users may set (package constant), and a function that makes the strategy.
//  2. If it has no model and is to start from earlier measurements, give it Learn, which takes in the outcomes of points that others asked
//     for. Package warm then wraps it: see warm.Strategy.
//  3. List it in Table of package strategies, with version 1. Users then choose it by its name.
//  4. Test it with the suite of package searchtest. Then go test ./search/strategies -run 'Docs|Golden|Traces' -update adds its
//     constants to docs/strategies.md, and records the points that it asks for: from then on other points need a new version.
//  5. Say in the section on strategies of docs/guide.md when to use it.
//
// A strategy of a program's own needs no table: see strategies.Own.
//
// The form is that of reverse communication, as in gonum/optimize: the method asks for an evaluation, the caller
// performs it.
package search
