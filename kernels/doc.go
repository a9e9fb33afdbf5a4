// Package kernels turns points of a space into programs with a cost.
//
// A [Kernel] is a named family of programs that compute one thing, a [Problem] one instance of it: a
// [Shape], with the [space.Space] of the ways to write it. For each point:
//
//  1. Problem.Build generates a [Candidate]: a program for a simulated machine, native code, a command.
//  2. Candidate.Check runs it on inputs drawn from a seed and compares it with the problem's reference.
//  3. Candidate.Score says what a candidate that passed costs.
//
// [Evaluator] runs the three steps and makes an outcome of whatever happens. A point that cannot be built,
// or whose candidate is wrong, dies or does not end, is a [Rejection]: a result of the search. Any other
// error is a failure of the tuner, and ends it.
//
// # Adding a kernel
//
// Implement [Kernel] and [Problem] in a package of their own, as the example does, and add the kernel to
// the table in package all. What a problem can do beyond the least, such as to read a saved program back,
// is in its [Traits]. The conformance suite in package kernelstest checks what the search relies on: that
// presets are right, that the first is the baseline, that a point always builds to the same program, that
// the problem can do what its traits say, and that no candidate that is wrong passes for right.
//
// A kernel or a problem may also wrap another one, of which it hands on all that it does not change:
// [Info], with its [Files], and [Traits] are values. [Pin] is a wrapper of problems.
package kernels
