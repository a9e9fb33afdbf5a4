// Package cgen is what families of kernels share that are generated as C: all but the algorithm.
//
//   - [Writer] collects the text, and keeps its indentation. Long constant pieces stand in files of C with holes ([Pieces]).
//   - [ISA] is an instruction set: [Select] takes those of a machine from the one table there is.
//   - [Flags] says how the text is compiled.
//   - [Crew] and [CrewParameters] are the knobs of threads that share the work; [Fields] and [Cold] what shapes say of
//     threads and caches.
//
// The example of this package is a family in full, saxpy: its space, its presets, its C, its cases and its reference.
//
// What a family generates for a point is part of its version, because recorded runs know points and not texts. So a change
// here that changes a text or a flag changes the versions of all families that it reaches; their golden files show which.
package cgen
