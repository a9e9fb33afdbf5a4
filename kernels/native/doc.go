// Package native makes problems of kernels that are written in C: generated, compiled, isolated, checked and timed on
// the machine that they are tuned for.
//
// A family of kernels provides a [Spec]: a space, presets, and the C text of each point, with cases to check it on.
// [New] makes the problem. What becomes of a point:
//
//  1. Build generates the text and compiles it (package cc), and looks at what the object defines. Compilers run in parallel.
//  2. Check loads the object in a worker process (package worker) and calls it on each case, on fresh inputs, twice
//     where that is cheap; Spec's own code compares with the reference.
//  3. Score waits for its turn, because one candidate is timed at a time, with the compilers stopped and no check under
//     way, and takes samples on one core (package timing). A candidate that is clearly behind the best gets no more
//     than a few. One of several threads is timed by the wall. What was measured on a core that was slower than it
//     can be, or by the wall on a machine that was not idle, is measured again when that is over, and says so in its
//     metric "unverified" where that does not help. What is timed varies (variants.go), and calls drawn at random are verified.
//  4. [Problem.Compare] measures finalists in turns with the baseline, in fresh workers, for a ratio with an interval.
//
// What families share that are generated as C (the writer of the text, instruction sets, compiler flags) is package cgen, whose
// example is a whole family.
//
// All problems of a process are given one [Host]: its compilers, its workers, its core for timing.
package native
