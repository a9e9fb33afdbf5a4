// Package native makes problems of kernels written in C. Candidates are generated, compiled, isolated, checked and timed on the
// machine that they are tuned for.
//
// A family of kernels provides a [Spec]: a space, presets, and the C text of each point, with cases to check it on.
// [New] makes the problem. A point goes through these steps:
//
//  1. Build generates the text, compiles it (package cc), and checks the symbols of the object. Compilers run in parallel.
//  2. Check loads the object in a worker process (package worker) and calls it on each case, on fresh inputs, twice
//     where that is cheap. The Spec's own code compares the results with the reference.
//  3. Score takes samples on one core (package timing). One candidate is timed at a time, with the compilers stopped and
//     no check in progress. A candidate that is clearly behind the best gets only a few samples. A candidate with several
//     threads is timed by wall clock. A measurement is repeated if the core was slower than usual or, for wall times, if
//     the machine was not idle; if that does not help, the metric "unverified" says so. The inputs of timed calls vary
//     (variants.go), and randomly drawn calls are verified.
//  4. [Problem.Compare] measures finalists in turns with the baseline, in fresh workers, for a ratio with an interval. Beside a library
//     the share of a yardstick is measured too: a loop of nothing but the problem's arithmetic, or of reads or copies of as many
//     bytes, whichever takes longer at the roofs of this core (roofs.go).
//
// Package cgen has what families of generated C share (the writer of the text, instruction sets, compiler flags); its example
// is a complete family.
//
// All problems of a process share one [Host]: its compilers, its workers, its core for timing.
package native
