// Package cgen is the part of C code generation that kernel families share: everything except the algorithm.
//
//   - [Writer] collects the text and indents it. Long constant pieces are templates of C in files of their own ([Pieces]).
//   - [ISA] is an instruction set. There is one table of them; [Select] returns those that a machine has.
//   - [Flags] are the compiler flags.
//   - [Tiles] is C text for matrix tiles, which can also be emulated.
//   - [Crew] and [CrewParameters] are the parameters of threads that share the work. [Fields] and [Cold] are the fields of a
//     shape for threads and caches.
//
// The example of this package is a complete family, saxpy: space, presets, C, cases and reference, the kernel made of it, and a run that tunes it.
//
// The version of a family covers the text that it generates for a point, because recorded runs contain points and not texts. A
// change in this package that alters a text or a flag therefore requires a new version of every family that it affects. The
// golden files show which ones.
package cgen
