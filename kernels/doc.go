// Package kernels turns points of a space into programs with a cost.
//
// A [Kernel] is a named family of programs that compute one thing. A [Problem] is one instance of it, for a [Shape]: it has the
// [space.Space] of the ways to write the program. For each point:
//
//  1. Problem.Build generates a [Candidate]: a program for a simulated machine, native code, or a command.
//  2. Candidate.Check runs it on inputs drawn from a seed and compares the results with the problem's reference.
//  3. Candidate.Score measures what a candidate that passed costs.
//
// [Evaluator] runs the three steps and turns whatever happens into an outcome. A point that cannot be built, or whose
// candidate is wrong, crashes or does not end, is a [Rejection], which is a result of the search. Any other error is a
// failure of the tuner, and ends the run.
//
// # Adding a kernel
//
// Implement [Kernel] and [Problem] in a package of their own, as the example does, and add the kernel to the table in package
// all. What a problem can do beyond the minimum, such as loading a saved program, is in its [Traits], and what a candidate can, such
// as measuring its errors, in its [Abilities]. The conformance suite in
// package kernelstest checks what a search relies on: presets are right, the first is the baseline, a point always builds to the
// same program, the problem can do what its traits say, and no wrong candidate passes its check.
//
// A kernel, a problem or a candidate may also wrap another one and change a part of it. [Info], with its [Files], [Traits] and
// [Abilities] are values, so that a wrapper can copy them and replace what it changes. [Pin] is a wrapper of problems.
package kernels
