// Package native makes problems of kernels written in C. Candidates are generated, compiled, isolated, checked and timed on the
// machine that they are tuned for.
//
// A family of kernels provides a [Spec]: a space, presets, and the C text of each point, with cases to check it on.
// What only some specs can do is an optional interface, such as [Sizer], and not a value like kernels.Traits: a family makes one spec of another
// by embedding it and replacing a method, which a value with the old method would not notice.
// [New] makes the problem. A point goes through these steps:
//
//  1. Build generates the text, compiles it (package cc), and checks the symbols of the object. Compilers run in parallel.
//  2. Check loads the object in a worker process (package worker) and calls it on each case, on fresh inputs, twice
//     where that is cheap. The Spec's own code compares the results with the reference.
//  3. Score takes samples on one core (package timing). One candidate is timed at a time, with the compilers stopped and
//     no check in progress. A candidate that is clearly behind the best gets only a few samples. A candidate with several
//     threads is timed by wall clock. A measurement is repeated if the core was slower than usual or, for wall times, if
//     the machine was not idle; if that does not help, the metric "unverified" says so. The inputs of timed calls vary
//     (variants.go), and randomly drawn calls are verified (evidence.go).
//  4. [Problem.Compare] measures finalists in turns with the baseline, in fresh workers, for a ratio with an interval. Beside a library
//     the share of a yardstick is measured too: a loop of nothing but the problem's arithmetic, or of reads or copies of as many
//     bytes, whichever takes longer at the roofs of this core (roofs.go).
//
// [Problem.Survey] checks and measures many candidates at one shape in short turns, each in a process that stays for the next shape. Libraries measure
// their variants by it (survey.go).
//
// Package cgen has what families of generated C share (the writer of the text, instruction sets, compiler flags); its example
// is a complete family.
//
// All problems of a process share one [Host]: its compilers, its workers, its core for timing.
//
// # Vocabulary of timing
//
// From the shortest to the longest:
//
//   - A call is one call of tune_kernel.
//   - A stretch is one or more calls that are timed as one. Before each stretch the worker changes the inputs and damages the outputs.
//     Package worker plans the stretches.
//   - A sample is the mean time of so many calls that the clock is exact enough: at least half a millisecond of them where other work on
//     the core matters (a burst), a tenth of one in a survey, otherwise 5 ms. It consists of stretches.
//   - A turn is what a candidate has before another one is measured, or before a search decides whether it goes on: mostly 5 ms, cut into
//     ten bursts, of which the second smallest counts. The metric "samples" counts turns.
//   - A request is what a worker is asked to time at once: one or more samples.
//   - A round of a comparison has one or more turns of each entrant, the baseline and the finalists. The cost of the baseline and that
//     of a finalist in one round are a pair.
//
// A content is one set of values for all inputs. The contents that a candidate is timed on are its pool. A variant is a content whose
// right result, the reference, is known. Where parts of an input come from several contents, it is mixed. Evidence is a copy of what a
// timed call was given and what it wrote. It is compared with the reference where the call worked on one variant. Otherwise the candidate
// is loaded anew, repeats the call, and has to write the same. Blind calls have buffers of their own, tune decides afterwards at which of them it
// looks, and it times them from outside of the process.
//
// A candidate reuses results if a call is faster because its inputs are nearly those of an earlier call. It is then timed apart: each call
// of a stretch has a copy of the buffers of its own, with completely new inputs. A candidate is uneven if a few of its calls take most of the
// time. Its samples are then levelled: each counts for at least their mean. docs/design/native.md has the reasons, and what was measured.
package native
