// Package search looks for the cheapest point of a space. Every answer has to be built, checked and measured, which
// takes from microseconds to minutes; the number of points may be 10 or 10^20. What to try next is the business of a
// [Strategy], what a point costs that of an [Evaluator]; this package brings the two together, in parallel, within a
// budget, and such that a run can be stopped at any instant, gone on with, and repeated.
//
// # Vocabulary
//
// A strategy asks for a batch of proposals: points, each with the fidelity to score it at. A proposal with its
// number, counted from 0 over the whole run, is a trial. Evaluating a trial gives an outcome: right with a cost, or
// failed with a status and a reason. The strategy is told the outcomes of a batch all at once; the moment between
// two batches is a barrier. The incumbent is the right outcome of full fidelity that costs least, of equal ones the
// one asked first. What a run asked and was told is its history; a sitting is the part of a run from a call of [Run]
// to its return.
//
// # The loop
//
// [Run] repeats these steps until a budget is spent, the context ends, or the strategy asks for nothing:
//
//  1. Ask. The strategy is shown the progress of the budget, and proposes a batch. Its trials are numbered.
//  2. Answer from the history. Where an earlier sitting recorded this batch, the strategy is shown the progress of
//     that time, has to ask for the points that are recorded, and what is known of them is not evaluated again. A
//     new batch is recorded.
//  3. Evaluate in parallel whatever is not known. Outcomes are written by the number of the trial, so that the order
//     of finishing changes nothing. A panic, a cost that is not a number, and any other outcome that could not be
//     kept, is an outcome too: crashed.
//  4. Record each outcome as soon as it is known, with the [Recorder].
//  5. Sync. At the barrier the recorder makes sure that all of it is durable: a strategy never knows more than the
//     journal.
//  6. Tell the strategy the outcomes, in the order asked.
//
// # Budgets
//
// A [Budget] limits wall time, evaluations, or both, and may set a target. A limit counts over all sittings. A budget
// of n evaluations makes n, by cutting the last batch short. A target ends the run at the first trial, in the order
// asked, that reaches it: all before it are evaluated, those after it are called off, and do not count even if they
// ended sooner. Wall time ends the run at once: evaluations under way are called off, and lost. Leading a strategy through its history takes
// no part of it.
//
// The history counts whatever the budget is by now. A resumed run may have a larger one, and goes on where the
// smaller ended; its last batch stays as short as it was.
//
// An outcome that is not right and arrives after its context has ended is dropped, as the end may be its cause.
//
// # Determinism
//
// The same strategy, seed, and budget of evaluations or target give the same run, whatever the number of jobs, the
// order in which evaluations end, and the interruptions, as long as outcomes depend on their points alone. Where costs
// are measured with noise, or the budget is wall time, the same holds for a history: [Replay] leads a strategy through
// it, and proves that it asks the same points in the same order.
//
// # What a strategy promises
//
//   - It asks for valid points of its space, and for none twice at the same fidelity.
//   - It asks for at most Progress.Evaluations points, and an allowance that cuts a batch short has no other effect:
//     what is asked is the beginning of what would have been asked. Only a strategy that says so (Paced in package
//     strategies) may fit itself to what is left.
//   - It stops, with an empty batch, only when it has asked for every point.
//   - It decides on the size of a batch itself. What it asks depends on its space, configuration and seed, on the
//     progress that it was shown and the outcomes that it was told, and on nothing else: no clock, no global source
//     of random numbers, no order of a map, and not on Outcome.Seconds.
//   - It copes with any outcomes: all failed, all equal, huge, negative.
//
// The suite in package searchtest checks all of this. [Fresh] gives a strategy points that it has not asked for yet,
// and [Take] keeps it to its allowance.
//
// The strategies are in packages of their own; package strategies is the table of them by name, with the constants that users may
// set (package constant).
//
// The form is that of reverse communication, as in gonum/optimize: the method asks for an evaluation, the caller
// performs it.
package search
